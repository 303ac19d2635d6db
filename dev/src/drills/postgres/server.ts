import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../postgres/index.ts'
import type { DatabaseUrls, EmbeddedPostgres } from '../../postgres/index.ts'
import { isRunning, signal } from '../../process.ts'
import { inService, prepareLedger } from './ledger.ts'

/** A PostgreSQL of the drill's own, durable as in production, always on the same port. */
export type DrillServer = {
  urls(): DatabaseUrls
  /** The superuser's, in the service's database. */
  superuserUrl(): string
  port(): number
  /** An `immediate` stop, which aborts all backends, and a start with crash recovery. Resolves when it serves. */
  restart(): Promise<void>
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

export async function startDrillServer(): Promise<DrillServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'service-drill-postgres-'))
  let running: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir })
  const { port } = running
  const stop = async (): Promise<void> => {
    await running.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    await prepareLedger(running.urls.admin, running.superuserUrl)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    urls: () => running.urls,
    superuserUrl: () => inService(running.superuserUrl, running.urls.admin),
    port: () => port,
    restart: async () => {
      signal({ ...running.process, group: false }, 'SIGQUIT')
      while (isRunning(running.process)) await sleep(10)
      running = await startEmbeddedPostgres({ dataDir, port })
    },
    stop,
  }
}
