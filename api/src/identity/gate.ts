import { ServiceError } from '@service/domain'

export type Gate = <T>(work: () => Promise<T>) => Promise<T>

const RETRY_AFTER_SECONDS = 2

/** At most `parallel` pieces of work at once and `queued` waiting; what comes beyond is refused with 503 (decision 2.3). */
export function createGate(limits: { readonly parallel: number; readonly queued: number }): Gate {
  const waiting: (() => void)[] = []
  let running = 0

  const enter = (): Promise<void> | undefined => {
    if (running < limits.parallel) {
      running += 1
      return undefined
    }
    if (waiting.length >= limits.queued)
      throw new ServiceError('unavailable', 'Too many sign-ins at this moment', {
        retryAfter: RETRY_AFTER_SECONDS,
      })
    return new Promise<void>((resolve) => waiting.push(resolve))
  }
  // The place goes over to the next in line without ever being free.
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
