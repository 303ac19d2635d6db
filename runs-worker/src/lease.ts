import type { Clock } from '@service/domain'
import { backoffMs, pause, reasonOf } from '@service/pod'
import type { RetryTimes } from '@service/pod'
import type { Logger } from 'pino'
import { isLost } from './api.ts'
import type { Api, HeldRun } from './api.ts'

export type LeaseOptions = {
  readonly api: Pick<Api, 'heartbeat'>
  readonly run: HeldRun
  readonly clock: Clock
  readonly log: Logger
  readonly retryTimes: RetryTimes
  /** The work has ended. */
  readonly done: AbortSignal
  /** Told once, when the run is no longer ours. */
  readonly onLost: () => void
}

/** A third of what is left leaves two more tries before the end. */
const SHARE = 3

/** Renews the lease of a run until the work is done or the lease is lost: by answer, or by its time. Never rejects. */
export async function keepLease(options: LeaseOptions): Promise<void> {
  const { api, run, clock, log, done, onLost } = options
  let failures = 0
  while (!done.aborted) {
    const left = run.leaseExpiresAt - clock().getTime()
    if (left <= 0) {
      log.warn({ run_id: run.id }, 'the lease of the run has ended')
      return onLost()
    }
    const wait = failures === 0 ? left / SHARE : backoffMs(failures, options.retryTimes)
    await pause(Math.min(wait, left), done)
    if (done.aborted) return
    try {
      await api.heartbeat(run)
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 1) log.warn({ run_id: run.id, reason: reasonOf(error) }, 'the lease is not renewed')
      if (isLost(error)) return onLost()
    }
  }
}
