import type { Log } from '../log.ts'

export type Job = { readonly stop: () => Promise<void> }

/** Runs a piece of work again and again, never twice at once, at times that replicas do not share. A failure is logged. */
export function startJob(options: {
  readonly name: string
  readonly everyMs: number
  /** Before the first time; as between two of them when nothing is said. */
  readonly firstMs?: number
  readonly work: () => Promise<unknown>
  readonly log: Log
}): Job {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function run(): Promise<void> {
    try {
      await options.work()
    } catch (error) {
      options.log.warn({ err: error, job: options.name }, 'a job failed; it is done again at its next time')
    }
    schedule(options.everyMs)
  }

  function schedule(afterMs: number): void {
    if (stopped) return
    timer = setTimeout(
      () => {
        running = run()
      },
      afterMs * (0.75 + 0.5 * Math.random()),
    )
  }

  schedule(options.firstMs ?? options.everyMs)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
