import { backoffMs } from '@service/kube'
import type { OperatorMetrics } from './metrics.ts'
import { createKeyedQueue } from './queue.ts'
import type { Priority } from './queue.ts'

/** When the key wants to be looked at again although nothing happens; `null`: at the next resync. */
export type ReconcileOutcome = {
  readonly requeueAfterMs: number | null
  /** The object does not exist any more: there is nothing to come back to. */
  readonly gone?: boolean
}

export type ControllerOptions = {
  readonly concurrency: number
  /** How often a settled key is looked at; each time with up to 40 % on top. */
  readonly resyncMs: number
  readonly backoff: { readonly firstMs: number; readonly maxMs: number }
  /** Must not wait for the world: it looks, does what is to be done now, and returns. */
  readonly reconcile: (key: string) => Promise<ReconcileOutcome>
  readonly onFailure: (key: string, error: unknown, retryMs: number) => void
  readonly metrics: OperatorMetrics
}

export type Controller = {
  add(key: string, priority: Priority): void
  /** Starts nothing more; resolves when the running ones have returned. */
  stop(): Promise<void>
}

/** Works on keys of a queue. Knows nothing of tenants. */
export function startController(options: ControllerOptions): Controller {
  const queue = createKeyedQueue(options.concurrency)
  const failures = new Map<string, number>()
  const idle = Promise.withResolvers<void>()
  const now = (): number => performance.now()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const run = async (key: string): Promise<void> => {
    const startedAt = now()
    try {
      const { requeueAfterMs, gone = false } = await options.reconcile(key)
      failures.delete(key)
      if (gone) {
        options.metrics.reconciled('success', (now() - startedAt) / 1_000)
        return
      }
      const after = requeueAfterMs ?? options.resyncMs * (1 + 0.4 * Math.random())
      // A look by the clock stands behind changes: with a thousand waiting tenants, changes would wait for looks.
      queue.addAt(key, now() + after, 'resync')
      const result = requeueAfterMs === null ? 'success' : 'requeue_after'
      options.metrics.reconciled(result, (now() - startedAt) / 1_000)
    } catch (error) {
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      const after = backoffMs(count, options.backoff)
      queue.addAt(key, now() + after, 'live')
      options.metrics.reconciled('error', (now() - startedAt) / 1_000)
      options.metrics.retried()
      options.onFailure(key, error, after)
    }
  }
  const pump = (): void => {
    clearTimeout(timer)
    if (stopped) {
      if (queue.running() === 0) idle.resolve()
      return
    }
    queue.promote(now())
    for (let key = queue.take(); key !== undefined; key = queue.take()) {
      const taken = key
      // `run` settles in any case; what follows it must not be lost.
      void run(taken).finally(() => {
        queue.done(taken)
        pump()
      })
    }
    options.metrics.queue(queue.depth(), queue.running())
    const at = queue.nextAt()
    if (at !== undefined) timer = setTimeout(pump, Math.max(1, Math.min(at - now(), 60_000)))
  }
  return {
    add: (key, priority) => {
      if (stopped) return
      options.metrics.enqueued()
      queue.add(key, priority)
      pump()
    },
    stop: () => {
      stopped = true
      pump()
      return idle.promise
    },
  }
}
