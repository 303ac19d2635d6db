import { type Principal, ServiceError, timestamp } from '@service/domain'
import type { LifecycleList, LifecycleQuery } from '@service/wire'
import { and, count, desc, eq, gte, inArray, lt } from 'drizzle-orm'
import type * as v from 'valibot'
import { tenantLifecycleEvents, tenants } from '../../db/schema/index.ts'
import { asReader } from '../../db/scope.ts'
import { decodeCursor, pageOf } from '../cursor.ts'
import { guardMssp } from '../guard.ts'
import { before, microseconds } from '../newest-first.ts'
import type { ReadContext } from './list.ts'

/** What happened to one tenant, newest first (decision 3.13). */
export async function listLifecycle(
  ctx: ReadContext,
  input: { readonly principal: Principal; readonly id: string; readonly query: LifecycleQuery },
): Promise<v.InferOutput<typeof LifecycleList>> {
  guardMssp(input.principal, 'tenant.read')
  const { query, id } = input
  const after = decodeCursor(query.cursor)
  const events = tenantLifecycleEvents
  const filter = and(
    eq(events.tenantId, id),
    query.kind === undefined ? undefined : inArray(events.kind, query.kind),
    query.since === undefined ? undefined : gte(events.at, query.since),
    query.until === undefined ? undefined : lt(events.at, query.until),
  )
  return asReader(ctx.db, async ({ q }) => {
    const known = await q.select({ id: tenants.id }).from(tenants).where(eq(tenants.id, id))
    if (known.length === 0) throw new ServiceError('not_found')
    const found = await q
      .select({ event: events, key: microseconds(events.at) })
      .from(events)
      .where(and(filter, before(events.at, events.id, after)))
      .orderBy(desc(events.at), desc(events.id))
      .limit(query.limit + 1)
    const page = pageOf(found, query.limit, (row) => ({ at: row.key, id: row.event.id }))
    const [total] = query.total ? await q.select({ total: count() }).from(events).where(filter) : []
    return {
      items: page.rows.map(({ event }) => lifecycleView(event)),
      next_cursor: page.nextCursor,
      ...(total === undefined ? {} : total),
    }
  })
}

const lifecycleView = (row: typeof tenantLifecycleEvents.$inferSelect) => ({
  id: row.id,
  at: timestamp(row.at),
  kind: row.kind,
  from_state: row.fromState,
  to_state: row.toState,
  actor_id: row.actorId,
  details: row.details,
})
