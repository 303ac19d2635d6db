import {
  DEFAULT_EVENT_SOURCE,
  EVENT,
  EVENT_BATCH,
  HEARTBEAT,
  HEARTBEAT_METRICS_BYTES,
  JSON_DEPTH,
  TENANT_STATES,
} from '@service/domain'
import * as v from 'valibot'
import { anyObject, looseObject, strictObject } from './object.ts'
import { dateTime, eventText, integer, isStorable, text, timestamp, uuid } from './text.ts'

const list = <const S extends v.GenericSchema>(item: S, max: number) =>
  v.optional(v.pipe(v.array(item), v.maxLength(max, `must be at most ${max} items`)), [])
const nullish = <const S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null)

/** Decision 5.1. */
export const WireEntity = looseObject({
  type: v.picklist(['user', 'host', 'ip', 'process', 'hash', 'domain', 'port']),
  value: eventText(1, EVENT.entityValue),
  role: nullish(v.picklist(['actor', 'target', 'src', 'dst', 'parent'])),
  source_field: nullish(eventText(0, EVENT.entitySourceField)),
})
export type WireEntity = v.InferOutput<typeof WireEntity>

const mitreList = list(eventText(1, 255), EVENT.mitre)
export const WireMitre = looseObject({ ids: mitreList, tactics: mitreList, techniques: mitreList })

export const IngestedIoc = looseObject({
  type: eventText(1, EVENT.iocType),
  value: eventText(1, EVENT.iocValue),
})

/**
 * S "AdapterEvent". Unknown keys are dropped, so that a newer adapter can talk to an older API (decision 1.2);
 * NUL and lone surrogates in texts become U+FFFD (decision 1.8).
 */
export const AdapterEvent = looseObject({
  source_event_id: eventText(1, EVENT.sourceEventId),
  severity: integer(0, EVENT.severityMax),
  source: v.optional(eventText(1, EVENT.source), DEFAULT_EVENT_SOURCE),
  asset_ids: list(eventText(0, EVENT.assetId), EVENT.assetIds),
  decoder: nullish(eventText(0, EVENT.decoder)),
  description: nullish(eventText(0, EVENT.description)),
  entities: list(WireEntity, EVENT.entities),
  full_log: nullish(eventText(0, EVENT.fullLog)),
  initial_iocs: list(IngestedIoc, EVENT.initialIocs),
  mitre: nullish(WireMitre),
  observed_at: nullish(dateTime),
  ts: nullish(dateTime),
  raw: nullish(anyObject),
  redaction_version: nullish(eventText(0, EVENT.redactionVersion)),
  rule_groups: list(eventText(0, 255), EVENT.ruleGroups),
  rule_id: nullish(eventText(0, EVENT.ruleId)),
  template_hash: nullish(eventText(0, EVENT.templateHash)),
  template_version: nullish(eventText(0, EVENT.templateVersion)),
  title: nullish(eventText(0, EVENT.title)),
})
export type AdapterEvent = v.InferOutput<typeof AdapterEvent>
export type AdapterEventInput = v.InferInput<typeof AdapterEvent>

/** One item of a batch, as it should be. */
const eventItem = v.pipe(v.unknown(), v.metadata({ $ref: '#/components/schemas/AdapterEvent' }))

/** Decision 5.2. The items stay `unknown` here: each is validated by itself, so that a bad one is rejected alone. */
export const EventBatch = strictObject({
  events: v.pipe(
    v.array(eventItem),
    v.minLength(EVENT_BATCH.min, 'must not be empty'),
    v.maxLength(EVENT_BATCH.max, `must be at most ${EVENT_BATCH.max} items`),
  ),
  batch_seq: v.optional(integer(0, Number.MAX_SAFE_INTEGER)),
  schema_version: v.optional(v.literal(1, 'must be 1'), 1),
})
export type EventBatch = v.InferOutput<typeof EventBatch>

export const EventResult = v.object({
  source_event_id: v.nullable(v.string()),
  status: v.picklist(['accepted', 'duplicate', 'rejected']),
  alert_id: v.nullable(uuid),
  investigation_id: v.nullable(uuid),
  error: v.nullable(v.object({ code: v.string(), pointer: v.string(), message: v.string() })),
})
export type EventResult = v.InferOutput<typeof EventResult>
export const EventBatchResult = v.object({
  accepted: v.number(),
  duplicates: v.number(),
  rejected: v.number(),
  results: v.array(EventResult),
})
export type EventBatchResult = v.InferOutput<typeof EventBatchResult>

/** Nesting of a JSON value; scalars are 0. Stops counting beyond `stopAt`, and never recurses deeper. */
export function jsonDepth(value: unknown, stopAt: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (stopAt <= 0) return 1
  let deepest = 0
  for (const child of Object.values(value)) {
    deepest = Math.max(deepest, jsonDepth(child, stopAt - 1))
    if (deepest >= stopAt) break
  }
  return deepest + 1
}

function holdsOnlyStorable(value: unknown): boolean {
  let storable = true
  JSON.stringify(value, (key, member: unknown) => {
    storable &&= isStorable(key) && (typeof member !== 'string' || isStorable(member))
    return member
  })
  return storable
}

const Metrics = v.pipe(
  anyObject,
  v.check((value) => holdsOnlyStorable(value), 'must not contain NUL or unpaired surrogates'),
  v.check(
    (value) => jsonDepth(value, JSON_DEPTH.heartbeatMetrics + 1) <= JSON_DEPTH.heartbeatMetrics,
    `must not be nested deeper than ${JSON_DEPTH.heartbeatMetrics}`,
  ),
  v.check(
    (value) => new TextEncoder().encode(JSON.stringify(value)).length <= HEARTBEAT_METRICS_BYTES,
    `must be at most ${HEARTBEAT_METRICS_BYTES} bytes`,
  ),
)

/** S "AdapterHeartbeatPayload". */
export const Heartbeat = strictObject({
  tenant_id: uuid,
  version: text(1, 64),
  health: text(1, HEARTBEAT.healthLength),
  metrics: v.optional(v.nullable(Metrics), null),
})
export type Heartbeat = v.InferOutput<typeof Heartbeat>
export const HeartbeatAnswer = v.object({
  ok: v.literal(true),
  state: v.picklist(TENANT_STATES),
  server_time: timestamp,
})
export type HeartbeatAnswer = v.InferOutput<typeof HeartbeatAnswer>

/** Decision 5.3. */
export const AdapterConfig = v.object({
  tenant_id: uuid,
  slug: v.string(),
  display_name: v.string(),
  state: v.picklist(TENANT_STATES),
  min_severity: v.number(),
  poll_seconds: v.number(),
  batch_size: v.number(),
  heartbeat_seconds: v.number(),
  redaction_version: v.string(),
})
export type AdapterConfig = v.InferOutput<typeof AdapterConfig>

/** Decision 5.2; nulls and zeros without a row. */
export const Checkpoint = v.object({
  source: v.string(),
  cursor_ts: v.nullable(timestamp),
  cursor_event_id: v.nullable(v.string()),
  batch_seq: v.number(),
  dropped_total: v.number(),
})
export type Checkpoint = v.InferOutput<typeof Checkpoint>
export const CheckpointQuery = strictObject({
  source: v.optional(text(1, EVENT.source), DEFAULT_EVENT_SOURCE),
})
export const CheckpointUpdate = strictObject({
  source: v.optional(text(1, EVENT.source), DEFAULT_EVENT_SOURCE),
  cursor_ts: v.nullable(dateTime),
  cursor_event_id: v.nullable(text(1, EVENT.sourceEventId)),
  batch_seq: v.optional(integer(0, Number.MAX_SAFE_INTEGER), 0),
  dropped_total: v.optional(integer(0, Number.MAX_SAFE_INTEGER), 0),
})
export type CheckpointUpdate = v.InferOutput<typeof CheckpointUpdate>
