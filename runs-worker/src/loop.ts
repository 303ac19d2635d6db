import type { Clock } from '@service/domain'
import { ApiError, backoffMs, pause, reasonOf } from '@service/pod'
import type { Logger } from 'pino'
import type { HeldRun } from './api.ts'
import { stateOf } from './status.ts'
import { aborted, workOn } from './work.ts'
import type { WorkOptions } from './work.ts'

export type LoopOptions = WorkOptions & {
  readonly workerId: string
  readonly concurrency: number
  readonly drainMs: number
  /** The longest pause between two questions for work. */
  readonly idleMs: number
  readonly clock: Clock
  readonly log: Logger
  /** Nothing is claimed any more; what is held has the drain time. */
  readonly stopping: AbortSignal
}

const FIRST_IDLE_MS = 1_000

/**
 * Claims, works, claims again, at most `concurrency` runs at once; without work it asks less and less often. Ends when
 * everything that it held is completed, given back or lost. Never rejects.
 */
export async function runLoop(options: LoopOptions): Promise<void> {
  const { status, log, stopping, concurrency, retryTimes } = options
  const held = new Set<Promise<void>>()
  const drained = new AbortController()
  const hold = (run: HeldRun): void => {
    const work = workOn(options, run, drained.signal).finally(() => {
      held.delete(work)
      status.running = held.size
    })
    held.add(work)
    status.running = held.size
  }
  if (!status.hasKey) log.warn('the tenant has no LLM key: nothing is claimed until it has one')
  const idleTimes = { firstMs: Math.min(FIRST_IDLE_MS, options.idleMs), maxMs: options.idleMs }
  let quiet = 0
  let failures = 0
  while (status.hasKey && !stopping.aborted) {
    if (held.size >= concurrency) {
      await Promise.race([...held, aborted(stopping)])
      continue
    }
    const { run, failed } = await ask(options)
    failures = failed === undefined ? 0 : failures + 1
    quiet = run === null && failed === undefined ? quiet + 1 : 0
    if (run !== null) hold(run)
    else if (failed === undefined) await pause(backoffMs(quiet, idleTimes), stopping)
    else await pause(Math.max(backoffMs(failures, retryTimes), failed.retryAfterMs), stopping)
  }
  await aborted(stopping)
  status.draining = true
  await drain(options, held, drained)
}

async function drain(
  { log, drainMs }: LoopOptions,
  held: ReadonlySet<Promise<void>>,
  drained: AbortController,
) {
  if (held.size > 0 && drainMs > 0) {
    log.info({ running: held.size, drain_seconds: drainMs / 1_000 }, 'waits for what is running')
    const waited = new AbortController()
    await Promise.race([Promise.all(held), pause(drainMs, waited.signal)])
    waited.abort()
  }
  drained.abort()
  await Promise.all(held)
}

type Asked = { readonly run: HeldRun | null; readonly failed?: { readonly retryAfterMs: number } }

/** One question for work. What went wrong is told once, not with every question. */
async function ask({ api, status, log, workerId }: LoopOptions): Promise<Asked> {
  try {
    const run = await api.claim({ worker_id: workerId })
    const isNews = status.api !== null || !status.asked
    status.api = null
    status.asked = true
    if (run === null) {
      if (isNews) log.info({ state: stateOf(status) }, 'there is no run to work on')
      return { run }
    }
    status.claimed += 1
    log.info({ run_id: run.id, job_type: run.jobType }, 'a run is claimed')
    return { run }
  } catch (error) {
    const failure = error instanceof ApiError ? error.failure : 'failing'
    if (status.api !== failure) log.warn({ failure, reason: reasonOf(error) }, 'asking for a run has failed')
    status.api = failure
    return { run: null, failed: { retryAfterMs: error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0 } }
  }
}
