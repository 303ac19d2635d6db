import { CHECKPOINT_OVERLAP_MS } from '@service/domain'

/** A place in the order of the indexer: a moment in milliseconds, then the event's id. */
export type Position = { readonly time: number; readonly id: string }

/** Whether `position` stands behind `other`; everything stands behind the beginning. */
export function isBehind(position: Position, other: Position | null): boolean {
  if (other === null || position.time !== other.time) return other === null || position.time > other.time
  return position.id > other.id
}

/** Every so many passes the whole overlap is read again; the others look back over the indexer's own delay only. */
const WHOLE_OVERLAP_EVERY = 6
const REFRESH_DELAY_MS = 15_000

/** Where a pass begins to read; null is the beginning. The first pass after a start reads the whole overlap. */
export function readFrom(cursor: Position | null, pass: number): Date | null {
  if (cursor === null) return null
  const back = pass % WHOLE_OVERLAP_EVERY === 0 ? CHECKPOINT_OVERLAP_MS : REFRESH_DELAY_MS
  return new Date(cursor.time - back)
}

/** Remembers the last `capacity` keys. */
export function createRecent(capacity: number) {
  const keys = new Set<string>()
  return {
    has: (key: string): boolean => keys.has(key),
    add: (key: string): void => {
      keys.delete(key)
      keys.add(key)
      if (keys.size <= capacity) return
      const [oldest] = keys
      if (oldest !== undefined) keys.delete(oldest)
    },
  }
}
export type Recent = ReturnType<typeof createRecent>
