import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadAlerts, startIndexer } from '@service/dev'
import { pino } from 'pino'
import { startAdapter } from '../src/adapter.ts'
import type { Adapter } from '../src/adapter.ts'
import { parse } from '../src/config.ts'
import type { Config } from '../src/config.ts'
import { startFakeApi } from './fake-api.ts'
import type { FakeOptions } from './fake-api.ts'

export const TENANT_ID = '01980000-0000-7000-8000-000000000000'
/** Short, so that an outage does not cost the tests seconds. */
export const RETRY_TIMES = { firstMs: 5, maxMs: 40 }
type IndexerOptions = Parameters<typeof startIndexer>[0]

/** A fake API, the development indexer, a folder with the token, and adapters that are stopped at the end. */
export async function createWorld(fake: Partial<FakeOptions> = {}, indexing: Partial<IndexerOptions> = {}) {
  const api = await startFakeApi({ tenantId: TENANT_ID, ...fake })
  const indexer = await startIndexer({ port: 0, ...indexing })
  const folder = await mkdtemp(join(tmpdir(), 'adapter-'))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'token-1\n')
  const environment = {
    API_URL: api.url,
    INDEXER_URL: `${indexer.url}/acme`,
    TENANT_ID,
    TENANT_SLUG: 'acme',
    ADAPTER_TOKEN_FILE: tokenFile,
    BIND_ADDRESS: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'silent',
  }
  const running = new Set<Adapter>()
  return {
    api,
    indexer,
    folder,
    tokenFile,
    environment,
    load: (alerts: Parameters<typeof loadAlerts>[2]) => loadAlerts(indexer.url, 'acme', alerts),
    start: async (env: Readonly<Record<string, string>> = {}, config: Partial<Config> = {}) => {
      const adapter = await startAdapter({
        config: { ...parse({ ...environment, ...env }), pollMs: 20, heartbeatMs: 50, ...config },
        log: pino({ level: 'silent' }),
        clock: () => new Date(),
        retryTimes: RETRY_TIMES,
      })
      running.add(adapter)
      return adapter
    },
    close: async () => {
      await Promise.all([...running].map((adapter) => adapter.stop()))
      await Promise.all([api.stop(), indexer.stop()])
      await rm(folder, { recursive: true })
    },
  }
}
export type World = Awaited<ReturnType<typeof createWorld>>

/** Waits for something to become true; rejects with `what` after 20 s. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await sleep(5)
  }
}

/** The ids under which alerts arrive. */
export const idsOf = (alerts: readonly Readonly<Record<string, unknown>>[]): string[] =>
  alerts.map((alert) => String(alert['id'])).toSorted()
