import type { Clock, HitFailpoint } from '@service/domain'
import type { KubeClient } from '@service/kube'
import type { Database } from '../db/database.ts'
import { asSystem } from '../db/scope.ts'
import type { Log } from '../log.ts'
import type { InstallIdentity, Pins } from './desired.ts'
import { startMarksLoop } from './marks-loop.ts'
import { markAllTenants } from './queue.ts'
import { startStatusWatch } from './status-watch.ts'
import { PROJECTOR } from './store.ts'

export type ProjectorOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly install: InstallIdentity
  readonly pins: Pins
  readonly hit: HitFailpoint
  readonly resyncMs?: number
  readonly pollMs?: number
}
export type Projector = {
  /** There is a new mark. */
  readonly wake: () => void
  hasSynced(): Promise<void>
  /** Names of resources without a row. */
  orphans(): readonly string[]
  stop(): Promise<void>
}

const RESYNC_MS = 240_000

/**
 * Rows to resources, statuses to rows. Any number of replicas may run it: marks are claimed, everything else is
 * written by keys that repeat. A full resync every few minutes repairs lost marks and missed events.
 */
export function startProjector(options: ProjectorOptions): Projector {
  const marks = startMarksLoop(options)
  const watch = startStatusWatch({ ...options, wake: marks.wake })
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function resync(): Promise<void> {
    try {
      await asSystem(options.db, PROJECTOR.reason, markAllTenants, { loop: true })
      marks.wake()
      watch.resync()
    } catch (error) {
      options.log.warn({ err: error }, 'the full resync failed; the next one will do')
    }
    schedule()
  }

  function schedule(): void {
    if (stopped) return
    const delay = (options.resyncMs ?? RESYNC_MS) * (0.75 + 0.5 * Math.random())
    timer = setTimeout(() => {
      running = resync()
    }, delay)
  }

  schedule()
  return {
    wake: marks.wake,
    hasSynced: () => watch.hasSynced(),
    orphans: () => watch.orphans(),
    async stop() {
      stopped = true
      clearTimeout(timer)
      await Promise.all([marks.stop(), watch.stop(), running])
    },
  }
}
