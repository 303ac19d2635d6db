import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats `attempt` until it answers something; at the deadline fails with `what` and, as the cause, its last error. */
export async function waitUntil<T>(
  what: string,
  attempt: () => Promise<T | undefined | false>,
  options: { readonly timeoutMs: number; readonly pauseMs: number },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs
  let last: unknown
  while (performance.now() < deadline) {
    try {
      const value = await attempt()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      last = error
    }
    await sleep(options.pauseMs)
  }
  throw new Error(`timed out waiting for ${what}`, { cause: last })
}
