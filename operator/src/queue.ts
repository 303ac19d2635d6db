export type Priority = 'live' | 'resync'

/**
 * Which key may be worked on next. A waiting key is held once; a key that is added while it runs runs exactly once more;
 * never more than `concurrency` at once; live changes before resync. Times are milliseconds of any monotonic clock.
 */
export type KeyedQueue = {
  add(key: string, priority: Priority): void
  /** The earlier of several times stands. It is forgotten when the key is taken: the run decides anew. */
  addAt(key: string, at: number, priority: Priority): void
  /** Lets in what was put off until now. */
  promote(now: number): void
  nextAt(): number | undefined
  /** The next key, now running, or `undefined` when none may run. */
  take(): string | undefined
  done(key: string): void
  depth(): number
  running(): number
}

export function createKeyedQueue(concurrency: number): KeyedQueue {
  // Maps keep the order of insertion: the oldest is first.
  const waiting = { live: new Map<string, true>(), resync: new Map<string, true>() }
  const running = new Set<string>()
  const again = new Map<string, Priority>()
  const later = new Map<string, { readonly at: number; readonly priority: Priority }>()

  const add = (key: string, priority: Priority): void => {
    if (running.has(key)) {
      if (again.get(key) !== 'live') again.set(key, priority)
      return
    }
    if (waiting.live.has(key)) return
    if (priority === 'live') waiting.resync.delete(key)
    waiting[priority].set(key, true)
  }
  return {
    add,
    addAt: (key, at, priority) => {
      const known = later.get(key)
      if (known === undefined || at < known.at) later.set(key, { at, priority })
    },
    promote: (now) => {
      for (const [key, { at, priority }] of later) {
        if (at > now) continue
        later.delete(key)
        add(key, priority)
      }
    },
    nextAt: () => {
      let earliest: number | undefined
      for (const { at } of later.values()) if (earliest === undefined || at < earliest) earliest = at
      return earliest
    },
    take: () => {
      if (running.size >= concurrency) return undefined
      for (const keys of [waiting.live, waiting.resync]) {
        for (const key of keys.keys()) {
          keys.delete(key)
          later.delete(key)
          running.add(key)
          return key
        }
      }
      return undefined
    },
    done: (key) => {
      running.delete(key)
      const priority = again.get(key)
      again.delete(key)
      if (priority !== undefined) add(key, priority)
    },
    depth: () => waiting.live.size + waiting.resync.size,
    running: () => running.size,
  }
}
