import type { Clock, Principal } from '@service/domain'
import type { TenantList, TenantListQuery } from '@service/wire'
import { and, count, desc, eq, inArray, isNull, or } from 'drizzle-orm'
import type * as v from 'valibot'
import type { Database } from '../../db/database.ts'
import { tenantHeartbeats, tenants } from '../../db/schema/index.ts'
import { asReader } from '../../db/scope.ts'
import { decodeCursor, pageOf } from '../cursor.ts'
import { guardMssp } from '../guard.ts'
import { before, contains, microseconds } from '../newest-first.ts'
import { tenantView } from './rows.ts'

export type ReadContext = { readonly db: Database; readonly clock: Clock }

/** Tenants, newest first; deleted ones only on request. */
export async function listTenants(
  ctx: ReadContext,
  input: { readonly principal: Principal; readonly query: TenantListQuery },
): Promise<v.InferOutput<typeof TenantList>> {
  guardMssp(input.principal, 'tenant.read')
  const { query } = input
  const after = decodeCursor(query.cursor)
  const filter = and(
    query.deleted ? undefined : isNull(tenants.deletedAt),
    query.state === undefined ? undefined : inArray(tenants.state, query.state),
    query.q === undefined
      ? undefined
      : or(contains(tenants.slug, query.q), contains(tenants.displayName, query.q)),
  )
  return asReader(ctx.db, async ({ q }) => {
    const found = await q
      .select({ tenant: tenants, heartbeat: tenantHeartbeats, at: microseconds(tenants.createdAt) })
      .from(tenants)
      .leftJoin(tenantHeartbeats, eq(tenantHeartbeats.tenantId, tenants.id))
      .where(and(filter, before(tenants.createdAt, tenants.id, after)))
      .orderBy(desc(tenants.createdAt), desc(tenants.id))
      .limit(query.limit + 1)
    const page = pageOf(found, query.limit, (row) => ({ at: row.at, id: row.tenant.id }))
    const [total] = query.total ? await q.select({ total: count() }).from(tenants).where(filter) : []
    const now = ctx.clock()
    return {
      items: page.rows.map((row) => tenantView(row.tenant, row.heartbeat, now)),
      next_cursor: page.nextCursor,
      ...(total === undefined ? {} : total),
    }
  })
}
