import type { Clock, HitFailpoint, Principal } from '@service/domain'
import type { EventBatch, EventBatchResult, EventResult } from '@service/wire'
import type { Database } from '../../db/database.ts'
import { newId } from '../../db/ids.ts'
import { forTenant, type Tx } from '../../db/scope.ts'
import { ownTenant } from '../own-tenant.ts'
import { guardAdapter } from './caller.ts'
import { type Item, readItem } from './event-items.ts'

export type IngestContext = {
  readonly db: Database
  readonly clock: Clock
  readonly onIngested: (counts: Pick<EventBatchResult, 'accepted' | 'duplicates' | 'rejected'>) => void
  readonly hit: HitFailpoint
}
type Readable = Extract<Item, { ok: true }>

/** Stores each event of a batch exactly once and answers for each, in order; a bad item is rejected alone (decision 5.2). */
export async function ingestEvents(
  ctx: IngestContext,
  input: { readonly principal: Principal; readonly batch: EventBatch },
): Promise<EventBatchResult> {
  const { principal, batch } = input
  guardAdapter(principal)
  const items = batch.events.map(readItem)
  const fresh = new Map<string, Readable>()
  for (const item of items) if (item.ok && !fresh.has(item.key)) fresh.set(item.key, item)
  const stored = await forTenant(ctx.db, principal.tenantId, async (tx) => {
    await ownTenant(tx, principal.tenantId)
    return insertEvents(tx, ctx.clock, principal.tenantId, fresh)
  })
  ctx.hit('api.events.committed')
  const results = items.map((item) => resultOf(item, stored))
  const counts = {
    accepted: results.filter((result) => result.status === 'accepted').length,
    duplicates: results.filter((result) => result.status === 'duplicate').length,
    rejected: results.filter((result) => result.status === 'rejected').length,
  }
  ctx.onIngested(counts)
  return { ...counts, results }
}

/**
 * One statement for the whole batch; answers the keys that were new. The rows go in by key, so that two batches with
 * the same events wait for each other in one order and never in a circle.
 */
async function insertEvents(
  tx: Tx,
  clock: Clock,
  tenantId: string,
  events: ReadonlyMap<string, Readable>,
): Promise<Set<string>> {
  if (events.size === 0) return new Set()
  const rows = [...events]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { event }]) => ({ key, id: newId(clock), payload: event }))
  const inserted = await tx.sql<{ idempotency_key: string }[]>`
    insert into events (id, tenant_id, aggregate_type, aggregate_id, seq, kind, payload, idempotency_key, created_at)
    select (row ->> 'id')::uuid, ${tenantId}::text::uuid, 'source_event', (row ->> 'id')::uuid, 1, 'event.ingested',
           row -> 'payload', row ->> 'key', ${clock()}
    from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as row
    on conflict (tenant_id, idempotency_key) do nothing
    returning idempotency_key`
  return new Set(inserted.map((row) => row.idempotency_key))
}

/** The first item with a new key is the accepted one: its key is taken out, so that later ones are duplicates. */
function resultOf(item: Item, stored: Set<string>): EventResult {
  const nothing = { alert_id: null, investigation_id: null }
  if (!item.ok)
    return { source_event_id: item.sourceEventId, status: 'rejected', ...nothing, error: item.error }
  const status = stored.delete(item.key) ? 'accepted' : 'duplicate'
  return { source_event_id: item.event.source_event_id, status, ...nothing, error: null }
}
