import type { ApiFailure } from '@service/pod'
import type { SourceFailure } from './source.ts'

/** What the adapter knows of itself; written by the forwarder, read by heartbeats. Moments in milliseconds. */
export type Status = {
  api: ApiFailure | null
  source: Exclude<SourceFailure, 'snapshot_gone'> | null
  lastReadAt: number | null
  lastSentAt: number | null
  /** Whether the last pass came to the end of what the indexer holds. */
  caughtUp: boolean
  /** `ts` of the newest event that the API has answered. */
  lastEventAt: number | null
  forwarded: number
  duplicates: number
  rejected: number
  unmappable: number
  belowMinimum: number
}

export const createStatus = (): Status => ({
  api: null,
  source: null,
  lastReadAt: null,
  lastSentAt: null,
  caughtUp: false,
  lastEventAt: null,
  forwarded: 0,
  duplicates: 0,
  rejected: 0,
  unmappable: 0,
  belowMinimum: 0,
})

/** `ok`, or a short reason; `ok` only while both ends work and the last read is younger than `boundMs`. */
export function healthOf(status: Readonly<Status>, now: number, boundMs: number): string {
  if (status.api !== null) return `api_${status.api}`
  if (status.source !== null) return `indexer_${status.source}`
  if (status.lastReadAt === null || status.lastSentAt === null) return 'starting'
  return now - status.lastReadAt > boundMs ? 'stalled' : 'ok'
}

/** The `metrics` of a heartbeat: plain counters since the start of the process. */
export function metricsOf(status: Readonly<Status>, now: number) {
  const { forwarded, duplicates, rejected, unmappable, belowMinimum, lastEventAt, caughtUp } = status
  const behind = lastEventAt === null ? null : Math.max(0, Math.round((now - lastEventAt) / 1_000))
  return {
    forwarded,
    duplicates,
    rejected,
    unmappable,
    below_minimum: belowMinimum,
    lag_seconds: caughtUp ? 0 : behind,
    last_event_at: lastEventAt === null ? null : new Date(lastEventAt).toISOString(),
  }
}
