import { JOB_TYPES } from '@service/domain'
import type { Clock, JobType } from '@service/domain'
import { backoffMs, pause, reasonOf } from '@service/pod'
import type { RetryTimes } from '@service/pod'
import type { RunRelease } from '@service/wire'
import type { Logger } from 'pino'
import { isLost } from './api.ts'
import type { Api, HeldRun } from './api.ts'
import { keepLease } from './lease.ts'
import type { Status } from './status.ts'

export type Release = Omit<RunRelease, 'lease_id'>
/**
 * Works on a run until it has told the API of its end (`null`), or says why it gives the run back; a rejection gives it
 * back as well. `signal` ends the work: the worker stops, or the run is no longer its own.
 */
export type RunHandler = (run: HeldRun, signal: AbortSignal) => Promise<Release | null>
/** What a worker can do; a run of another kind is given back. */
export type RunHandlers = Partial<Readonly<Record<JobType, RunHandler>>>

export type WorkOptions = {
  readonly api: Api
  readonly handlers: RunHandlers
  readonly status: Status
  readonly clock: Clock
  readonly log: Logger
  readonly retryTimes: RetryTimes
}

const RELEASE_TRIES = 3

/** Holds a run from the claim to its end: completed, given back, or lost to somebody else. Never rejects. */
export async function workOn(options: WorkOptions, run: HeldRun, drained: AbortSignal): Promise<void> {
  const { status, log } = options
  const ended = new AbortController()
  const lost = new AbortController()
  const lease = keepLease({ ...options, run, done: ended.signal, onLost: () => lost.abort() })
  const release = await handle(options.handlers, run, AbortSignal.any([drained, lost.signal]))
  ended.abort()
  await lease
  if (lost.signal.aborted) log.warn({ run_id: run.id }, 'the run is no longer held by this worker')
  else if (release === null) status.completed += 1
  else await giveBack(options, run, release)
}

async function handle(handlers: RunHandlers, run: HeldRun, signal: AbortSignal): Promise<Release | null> {
  const jobType = JOB_TYPES.find((known) => known === run.jobType)
  const handler = jobType === undefined ? undefined : handlers[jobType]
  if (handler === undefined)
    return { reason: `this worker cannot do ${run.jobType}`, error_category: 'unsupported' }
  const work = handler(run, signal).catch((error: unknown): Release => {
    return { reason: reasonOf(error), error_category: 'internal' }
  })
  // A handler that does not listen must not hold up the end.
  const stopped = aborted(signal).then((): Release => ({
    reason: 'the worker stops',
    error_category: 'shutdown',
  }))
  return Promise.race([work, stopped])
}

/** A run that cannot be given back is free again when its lease has run out. */
async function giveBack({ api, status, log, retryTimes }: WorkOptions, run: HeldRun, release: Release) {
  const about = { run_id: run.id, reason: release.reason, error_category: release.error_category }
  for (let tries = 1; tries <= RELEASE_TRIES; tries++) {
    try {
      const { retrying } = await api.release(run, release)
      status.released += 1
      return log.info({ ...about, retrying }, 'the run is given back')
    } catch (error) {
      log.warn({ ...about, failure: reasonOf(error) }, 'the run could not be given back')
      if (isLost(error)) return undefined
      if (tries < RELEASE_TRIES) await pause(backoffMs(tries, retryTimes), new AbortController().signal)
    }
  }
}

/** Resolves when the signal is set. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
