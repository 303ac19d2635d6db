import { backoffMs } from '@service/kube'

export type KeyedWorker<T> = {
  /** The newest value of a key replaces one that still waits. */
  readonly put: (key: string, value: T) => void
  /** Takes nothing more; resolves when the running work is done. */
  readonly stop: () => Promise<void>
}

const RETRY = { firstMs: 500, maxMs: 60_000 } as const

/** Works on the newest value of each key, never twice at once on one key; a failure is tried again later. */
export function createKeyedWorker<T>(options: {
  readonly concurrency: number
  readonly work: (value: T) => Promise<void>
  readonly onError: (error: unknown, key: string) => void
}): KeyedWorker<T> {
  const waiting = new Map<string, T>()
  const failures = new Map<string, number>()
  const running = new Map<string, Promise<void>>()
  /** Of keys that failed and wait for another try; a newer value makes it needless. */
  const timers = new Map<string, NodeJS.Timeout>()
  let stopped = false

  function pump(): void {
    if (stopped) return
    for (const [key, value] of waiting) {
      if (running.size >= options.concurrency) return
      if (running.has(key)) continue
      waiting.delete(key)
      running.set(
        key,
        run(key, value).finally(() => {
          running.delete(key)
          pump()
        }),
      )
    }
  }

  async function run(key: string, value: T): Promise<void> {
    try {
      await options.work(value)
      failures.delete(key)
    } catch (error) {
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      options.onError(error, key)
      if (!waiting.has(key)) later(key, value, backoffMs(count, RETRY))
    }
  }

  function later(key: string, value: T, ms: number): void {
    if (stopped) return
    const timer = setTimeout(() => put(key, value), ms)
    timers.set(key, timer)
  }

  function put(key: string, value: T): void {
    clearTimeout(timers.get(key))
    timers.delete(key)
    waiting.set(key, value)
    pump()
  }

  return {
    put,
    async stop() {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.allSettled(running.values())
    },
  }
}
