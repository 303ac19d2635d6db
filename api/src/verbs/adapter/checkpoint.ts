import { type Principal, timestamp } from '@service/domain'
import type { Checkpoint, CheckpointUpdate } from '@service/wire'
import type * as v from 'valibot'
import type { Database } from '../../db/database.ts'
import { forTenant, type Tx } from '../../db/scope.ts'
import { ownTenant } from '../own-tenant.ts'
import { guardAdapter } from './caller.ts'

type CheckpointView = v.InferOutput<typeof Checkpoint>
type Row = {
  cursor_ts: Date | null
  cursor_event_id: string | null
  batch_seq: number
  dropped_total: number
}

/** How far the adapter has read; nulls and zeros when it has never said (decision 5.2). */
export async function readCheckpoint(
  ctx: { readonly db: Database },
  input: { readonly principal: Principal; readonly source: string },
): Promise<CheckpointView> {
  const { principal, source } = input
  guardAdapter(principal)
  return forTenant(ctx.db, principal.tenantId, async (tx) => {
    const [row] = await tx.sql<Row[]>`
      select cursor_ts, cursor_event_id, batch_seq, dropped_total from adapter_checkpoints
      where tenant_id = ${principal.tenantId} and source = ${source}`
    return view(source, row)
  })
}

/** Moves the checkpoint forward; an older report changes nothing and is answered with the newer row. */
export async function writeCheckpoint(
  ctx: { readonly db: Database },
  input: { readonly principal: Principal; readonly update: CheckpointUpdate },
): Promise<CheckpointView> {
  const { principal, update } = input
  guardAdapter(principal)
  return forTenant(ctx.db, principal.tenantId, async (tx) => {
    await ownTenant(tx, principal.tenantId)
    return view(update.source, await moveForward(tx, principal.tenantId, update))
  })
}

/** Cursor and counters move each by itself; the cursor is ordered by moment, then by event id. */
async function moveForward(tx: Tx, tenantId: string, update: CheckpointUpdate): Promise<Row | undefined> {
  const at = update.cursor_ts === null ? null : new Date(update.cursor_ts)
  const [row] = await tx.sql<Row[]>`
    insert into adapter_checkpoints as stored
      (tenant_id, source, cursor_ts, cursor_event_id, batch_seq, dropped_total, updated_at)
    values (${tenantId}, ${update.source}, ${at}, ${at === null ? null : update.cursor_event_id},
            ${update.batch_seq}, ${update.dropped_total}, now())
    on conflict (tenant_id, source) do update set
      (cursor_ts, cursor_event_id) = (
        select case when newer then excluded.cursor_ts else stored.cursor_ts end,
               case when newer then excluded.cursor_event_id else stored.cursor_event_id end
        from (select excluded.cursor_ts is not null and (stored.cursor_ts is null
                or (excluded.cursor_ts, coalesce(excluded.cursor_event_id, ''))
                 > (stored.cursor_ts, coalesce(stored.cursor_event_id, ''))) as newer) as decided
      ),
      batch_seq = greatest(stored.batch_seq, excluded.batch_seq),
      dropped_total = greatest(stored.dropped_total, excluded.dropped_total),
      updated_at = now()
    returning cursor_ts, cursor_event_id, batch_seq, dropped_total`
  return row
}

const view = (source: string, row: Row | undefined): CheckpointView => ({
  source,
  cursor_ts: row === undefined || row.cursor_ts === null ? null : timestamp(row.cursor_ts),
  cursor_event_id: row?.cursor_event_id ?? null,
  batch_seq: row?.batch_seq ?? 0,
  dropped_total: row?.dropped_total ?? 0,
})
