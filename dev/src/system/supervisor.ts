import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../process.ts'
import type { ProcessRecord } from '../process.ts'

export type UnitHandle = {
  readonly records: readonly ProcessRecord[]
  stop(): Promise<void>
}

/** A part of the system that runs in processes of its own. `start` resolves when it serves. */
export type Unit = { readonly name: string; start(): Promise<UnitHandle> }

export type SupervisorOptions = {
  readonly log: (line: string) => void
  /** Called whenever the processes have changed. */
  readonly onChange?: () => void
}

const LOOK_EVERY_MS = 250
const LONGEST_PAUSE_MS = 10_000

/** Keeps one unit running: what dies is started again with a growing pause, as a kubelet would do. */
export class SupervisedUnit {
  readonly #unit: Unit
  readonly #options: SupervisorOptions
  #handle: UnitHandle | undefined
  #watching: Promise<void> | undefined
  #abort = new AbortController()

  constructor(unit: Unit, options: SupervisorOptions) {
    this.#unit = unit
    this.#options = options
  }

  get name(): string {
    return this.#unit.name
  }

  records(): readonly ProcessRecord[] {
    return this.#handle?.records ?? []
  }

  /** Rejects when the first start fails. */
  async start(): Promise<void> {
    if (this.#handle !== undefined) return
    this.#abort = new AbortController()
    this.#handle = await this.#unit.start()
    this.#options.onChange?.()
    this.#watching = this.#watch(this.#abort.signal)
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#watching
    await this.#handle?.stop()
    this.#handle = undefined
    this.#options.onChange?.()
  }

  async #watch(signal: AbortSignal): Promise<void> {
    let pause = LOOK_EVERY_MS
    while (!signal.aborted) {
      await sleep(pause, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      if (this.records().length > 0 && this.records().every(isRunning)) {
        pause = LOOK_EVERY_MS
        continue
      }
      this.#options.log(`${this.name} has ended; starting it again`)
      pause = (await this.#restart()) ? LOOK_EVERY_MS : Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  }

  async #restart(): Promise<boolean> {
    try {
      await this.#handle?.stop()
      this.#handle = { records: [], stop: () => Promise.resolve() }
      this.#handle = await this.#unit.start()
      this.#options.onChange?.()
      return true
    } catch (error) {
      this.#options.log(
        `${this.name} does not start: ${error instanceof Error ? error.message : String(error)}`,
      )
      return false
    }
  }
}
