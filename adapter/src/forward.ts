import { DEFAULT_EVENT_SOURCE, EVENT_BATCH } from '@service/domain'
import type { Clock } from '@service/domain'
import { ApiError, backoffMs, createRetry, pause, reasonOf } from '@service/pod'
import type { Retrying, RetryTimes } from '@service/pod'
import type { AdapterConfig, Checkpoint } from '@service/wire'
import type { Logger } from 'pino'
import type { Api } from './api.ts'
import { encode, fits } from './batch.ts'
import type { Encoded } from './batch.ts'
import { eventIdOf, mapAlert } from './map.ts'
import { createRecent, isBehind, readFrom } from './position.ts'
import type { Position } from './position.ts'
import { send } from './send.ts'
import type { Answered, Sent } from './send.ts'
import { SourceError } from './source.ts'
import type { EventSource, SourceHit } from './source.ts'
import type { Status } from './status.ts'

export type ForwardOptions = {
  readonly api: Api
  readonly source: EventSource
  readonly status: Status
  readonly clock: Clock
  readonly log: Logger
  readonly pollMs: number
  readonly retryTimes: RetryTimes
  /** Ends the loop after the request in flight and its checkpoint. */
  readonly stopping: AbortSignal
}

/** How many documents are remembered as done, so that reading the overlap again sends nothing twice. */
const REMEMBERED = 50_000
/** How long the API's answer about how to work is believed. */
const CONFIG_MS = 5 * 60_000

type Run = ForwardOptions & {
  readonly retrying: Retrying
  readonly done: ReturnType<typeof createRecent>
  settings: AdapterConfig
  settingsAt: number
  cursor: Position | null
  batchSeq: number
  droppedTotal: number
  /** What the API's checkpoint was last told. */
  saved: { readonly cursor: Position | null; readonly droppedTotal: number }
}

/** Reads, sends, and moves the checkpoint after each answer, until `stopping`. Never rejects. */
export async function runForwarder(options: ForwardOptions): Promise<void> {
  const { stopping, status, log } = options
  const retrying = createRetry(options.retryTimes, stopping, (error) => noteFailure(options, error))
  let run: Run | undefined
  let failures = 0
  for (let pass = 0; !stopping.aborted;) {
    try {
      run ??= await begin(options, retrying)
      await onePass(run, pass)
      pass += 1
      failures = 0
      await pause(options.pollMs, stopping)
    } catch (error) {
      if (stopping.aborted) break
      status.caughtUp = false
      noteFailure(options, error)
      failures += 1
      await pause(backoffMs(failures, options.retryTimes), stopping)
    }
  }
  log.debug('the forwarder has ended')
}

function noteFailure({ status, log }: ForwardOptions, error: unknown): void {
  if (error instanceof ApiError) {
    if (status.api !== error.failure) log.warn({ failure: error.failure }, error.message)
    status.api = error.failure
  } else if (error instanceof SourceError) {
    // A snapshot ends while the API is away; the next pass takes another.
    if (error.failure === 'snapshot_gone') return
    if (status.source !== error.failure) log.warn({ failure: error.failure }, error.message)
    status.source = error.failure
  } else if (!(error instanceof Error && error.name === 'AbortError')) {
    log.error({ reason: reasonOf(error) }, 'a pass has failed')
    status.source = 'failing'
  }
}

function noteAnswer({ status, clock, log }: ForwardOptions): void {
  if (status.api !== null) log.info('the API answers again')
  status.api = null
  status.lastSentAt = clock().getTime()
}

async function begin(options: ForwardOptions, retrying: Retrying): Promise<Run> {
  const settings = await retrying(() => options.api.config())
  const checkpoint = await retrying(() => options.api.checkpoint(DEFAULT_EVENT_SOURCE))
  noteAnswer(options)
  const cursor = positionOf(checkpoint)
  options.log.info({ from: checkpoint.cursor_ts, batch_size: settings.batch_size }, 'forwarding begins')
  return {
    ...options,
    retrying,
    done: createRecent(REMEMBERED),
    settings,
    settingsAt: options.clock().getTime(),
    cursor,
    batchSeq: checkpoint.batch_seq,
    droppedTotal: checkpoint.dropped_total,
    saved: { cursor, droppedTotal: checkpoint.dropped_total },
  }
}

const positionOf = ({ cursor_ts: ts, cursor_event_id: id }: Checkpoint): Position | null =>
  ts === null ? null : { time: Date.parse(ts), id: id ?? '' }

async function onePass(run: Run, pass: number): Promise<void> {
  const { status, clock, log } = run
  if (clock().getTime() - run.settingsAt > CONFIG_MS) {
    run.settings = await run.retrying(() => run.api.config())
    run.settingsAt = clock().getTime()
    noteAnswer(run)
  }
  const size = Math.min(Math.max(Math.trunc(run.settings.batch_size), EVENT_BATCH.min), EVENT_BATCH.max)
  let group = emptyGroup()
  for await (const page of run.source.read(readFrom(run.cursor, pass), size)) {
    noteRead(run)
    group = await forwardPage(run, page, size, group)
    if (run.stopping.aborted) return
  }
  noteRead(run)
  if (group.keys.length > 0) throw allStuck()
  if (!status.caughtUp) log.debug('the end of the indexer is reached')
  status.caughtUp = true
}

const allStuck = () => new ApiError('failing', 'the API fails on every event of a batch')

function noteRead({ status, clock, log }: Run): void {
  if (status.source !== null) log.info('the indexer answers again')
  status.source = null
  status.lastReadAt = clock().getTime()
}

/** Documents of one page that go together, and the furthest place that is settled once they are. */
type Group = { readonly keys: string[]; readonly events: Encoded[]; reached: Position | null }
const emptyGroup = (): Group => ({ keys: [], events: [], reached: null })

/** Answers what is left over: events that the API fails on go along with the next page's, to tell which are bad. */
async function forwardPage(run: Run, page: readonly SourceHit[], size: number, left: Group): Promise<Group> {
  let group = left
  const now = run.clock()
  for (const hit of page) {
    const encoded = run.done.has(keyOf(hit)) ? undefined : prepare(run, hit, now)
    if (encoded !== undefined && !fits(group.events, encoded, size)) {
      if (!(await settle(run, group))) throw allStuck()
      if (run.stopping.aborted) return emptyGroup()
      group = emptyGroup()
    }
    if (encoded !== undefined) group.events.push(encoded)
    group.keys.push(keyOf(hit))
    group.reached = further(group.reached, hit, now)
  }
  return (await settle(run, group)) ? emptyGroup() : group
}

const keyOf = ({ index, id }: SourceHit): string => `${index}/${id}`

/** A document from the future does not move the checkpoint: what comes until then would never be read. */
function further(reached: Position | null, hit: SourceHit, now: Date): Position | null {
  if (hit.time === null || hit.time > now.getTime()) return reached
  const position = { time: hit.time, id: eventIdOf(hit) }
  return isBehind(position, reached) ? position : reached
}

function prepare(run: Run, hit: SourceHit, now: Date): Encoded | undefined {
  const mapped = mapAlert(hit, now)
  if ('dropped' in mapped) {
    run.status.unmappable += 1
    drop(run, hit.id, mapped.dropped)
    return undefined
  }
  if (mapped.event.severity >= run.settings.min_severity) return encode(mapped.event)
  run.status.belowMinimum += 1
  return undefined
}

function drop(run: Run, id: string, reason: string): void {
  run.droppedTotal += 1
  run.log.warn({ id: id.slice(0, 128), reason }, 'an alert is dropped')
}

/** Sends a group, and only then says that it is done; false when the API fails and the group has to wait. */
async function settle(run: Run, group: Group): Promise<boolean> {
  if (group.events.length > 0) {
    const sent = await sendNow(run, group.events)
    const poison = await confirmPoison(run, sent)
    if (poison === undefined) return false
    for (const { event } of sent.oversized) reject(run, event.source_event_id, 'it is too large for the API')
    for (const { event } of poison)
      reject(run, event.source_event_id, 'the API fails on it, but not on others')
  }
  for (const key of group.keys) run.done.add(key)
  if (group.reached !== null && isBehind(group.reached, run.cursor)) run.cursor = group.reached
  await saveCheckpoint(run)
  return true
}

async function sendNow(run: Run, events: readonly Encoded[]): Promise<Sent> {
  const nextSeq = () => (run.batchSeq += 1)
  const sent = await send({ api: run.api, retrying: run.retrying, nextSeq }, events)
  if (sent.answered.length > 0) noteAnswer(run)
  for (const answered of sent.answered) account(run, answered)
  return sent
}

/**
 * Which of the events that the API failed on are to blame themselves; undefined when it may be the API. An event is
 * to blame when it fails again after a neighbour got through, and that neighbour gets through again after it.
 */
async function confirmPoison(run: Run, sent: Sent): Promise<Encoded[] | undefined> {
  const poison: Encoded[] = []
  const [neighbour] = sent.answered
  for (const suspect of sent.stuck) {
    if (neighbour === undefined) return undefined
    const again = await sendNow(run, [suspect])
    if (again.answered.length > 0) continue
    const probe = await send({ api: run.api, retrying: run.retrying, nextSeq: () => run.batchSeq }, [
      neighbour.encoded,
    ])
    if (probe.answered.length === 0) return undefined
    noteAnswer(run)
    poison.push(suspect)
  }
  return poison
}

function account(run: Run, { encoded, result }: Answered): void {
  const { status } = run
  if (result.status === 'accepted') status.forwarded += 1
  else if (result.status === 'duplicate') status.duplicates += 1
  else {
    const { code = 'unknown', pointer = '' } = result.error ?? {}
    reject(run, encoded.event.source_event_id, `the API rejected it: ${code} at ${pointer}`)
  }
  const at = Date.parse(encoded.event.ts ?? '')
  if (at > (status.lastEventAt ?? Number.NEGATIVE_INFINITY)) status.lastEventAt = at
}

function reject(run: Run, id: string, reason: string): void {
  run.status.rejected += 1
  drop(run, id, reason)
}

async function saveCheckpoint(run: Run): Promise<void> {
  const { cursor, droppedTotal, saved } = run
  if (cursor === saved.cursor && droppedTotal === saved.droppedTotal) return
  const move = () =>
    run.api.moveCheckpoint({
      source: DEFAULT_EVENT_SOURCE,
      cursor_ts: cursor === null ? null : new Date(cursor.time).toISOString(),
      cursor_event_id: cursor === null || cursor.id === '' ? null : cursor.id,
      batch_seq: run.batchSeq,
      dropped_total: droppedTotal,
    })
  // The last answer before the end is worth one attempt.
  const answer = await (run.stopping.aborted ? move() : run.retrying(move))
  noteAnswer(run)
  run.saved = { cursor, droppedTotal }
  // Another adapter of the same tenant may be further, while an old pod ends.
  const theirs = positionOf(answer)
  if (theirs !== null && isBehind(theirs, run.cursor)) run.cursor = theirs
}
