import { DelegateBackoff, handleWhen, retry, wrap } from 'cockatiel'
import type { IRetryBackoffContext } from 'cockatiel'
import { ApiError } from './api-client.ts'
import type { ApiFailure } from './api-client.ts'

export type RetryTimes = { readonly firstMs: number; readonly maxMs: number }
export const RETRY_TIMES: RetryTimes = { firstMs: 500, maxMs: 30_000 }

/** Doubling, with the upper half random, so that many workloads do not come back together. */
export function backoffMs(attempt: number, { firstMs, maxMs }: RetryTimes, random = Math.random()): number {
  const full = Math.min(firstMs * 2 ** Math.min(attempt - 1, 30), maxMs)
  return Math.round(full / 2 + (full / 2) * random)
}

/** What passes by itself, or by hand outside: the API is away, or does not take the token. */
const PASSING: ReadonlySet<ApiFailure> = new Set([
  'unreachable',
  'unavailable',
  'unauthorized',
  'invalid_answer',
  'token_unreadable',
])
const FAILING: ReadonlySet<ApiFailure> = new Set(['failing'])
/** How often a 500 is tried again before the batch is suspected. */
const FAILING_RETRIES = 2

export type Retrying = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Repeats a call as long as the API is away; other failures reject. `onFailure` hears of every failed attempt.
 * Once `stopping` is set nothing is called any more: what is in flight may finish, what waits rejects at once.
 */
export function createRetry(
  times: RetryTimes,
  stopping: AbortSignal,
  onFailure: (error: unknown) => void,
): Retrying {
  const backoff = new DelegateBackoff((context: IRetryBackoffContext<unknown>) =>
    Math.max(backoffMs(context.attempt, times), askedFor(context.result)),
  )
  const repeat = (failures: ReadonlySet<ApiFailure>, maxAttempts: number) =>
    retry(
      handleWhen((error) => error instanceof ApiError && failures.has(error.failure)),
      { maxAttempts, backoff },
    ).dangerouslyUnref()
  const policy = wrap(repeat(PASSING, Number.POSITIVE_INFINITY), repeat(FAILING, FAILING_RETRIES))
  return (call) => {
    let waiting = false
    const attempt = async () => {
      waiting = false
      // The policy's own waiting ends with one more attempt.
      stopping.throwIfAborted()
      try {
        return await call()
      } catch (error) {
        onFailure(error)
        waiting = true
        throw error
      }
    }
    return orStopped(policy.execute(attempt, stopping), stopping, () => waiting)
  }
}

function orStopped<T>(work: Promise<T>, stopping: AbortSignal, isWaiting: () => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      if (isWaiting()) reject(stopping.reason as Error)
    }
    stopping.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => stopping.removeEventListener('abort', stop))
  })
}

const askedFor = (result: IRetryBackoffContext<unknown>['result']): number =>
  'error' in result && result.error instanceof ApiError ? (result.error.retryAfterMs ?? 0) : 0

/** Waits, but not longer than until `stopping`. */
export function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stopping.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      stopping.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    stopping.addEventListener('abort', done)
  })
}
