import type { Principal } from '@service/domain'
import type { AuditQuery, AuditRecord, TenantAuditQuery, TenantAuditRecord } from '@service/wire'
import { and, count, desc, eq, gte, inArray, lt, type SQL } from 'drizzle-orm'
import type { Database } from '../../db/database.ts'
import { auditLog } from '../../db/schema/index.ts'
import { asReader, forTenant, type Tx } from '../../db/scope.ts'
import { decodeCursor, pageOf } from '../cursor.ts'
import { guardMssp, guardTenant } from '../guard.ts'
import { before, microseconds } from '../newest-first.ts'
import { auditRecord, type AuditRow, tenantAuditRecord } from './rows.ts'

export type AuditContext = { readonly db: Database }
export type AuditPage<T> = { items: T[]; next_cursor: string | null; total?: number }

/** Rows of an export without a cursor in between (decision 7). */
const EXPORT_ROWS = 10_000

type Request<Q> = {
  readonly principal: Principal
  readonly query: Q
  /** An export takes as many rows as it may, whatever the limit (decision 10.7). */
  readonly whole: boolean
}

/** All rows for MSSP staff, or those of the tenant that the session has entered (decision 2.6). */
export function listAudit(
  { db }: AuditContext,
  { principal, query, whole }: Request<AuditQuery>,
): Promise<AuditPage<AuditRecord>> {
  guardMssp(principal, 'audit.read')
  const { currentTenant } = principal
  const filter = and(
    query.tenant === undefined ? undefined : inArray(auditLog.tenantId, query.tenant),
    currentTenant === null ? undefined : eq(auditLog.tenantId, currentTenant),
    filterOf(query),
  )
  return asReader(db, (tx) => readPage(tx, filter, { ...query, whole }, auditRecord))
}

export function listTenantAudit(
  { db }: AuditContext,
  { principal, query, whole }: Request<TenantAuditQuery>,
): Promise<AuditPage<TenantAuditRecord>> {
  guardTenant(principal, 'audit.read')
  const { tenantId } = principal
  const filter = and(eq(auditLog.tenantId, tenantId), filterOf(query))
  return forTenant(db, tenantId, (tx) => readPage(tx, filter, { ...query, whole }, tenantAuditRecord))
}

const filterOf = (query: TenantAuditQuery): SQL | undefined =>
  and(
    query.since === undefined ? undefined : gte(auditLog.timestamp, query.since),
    query.until === undefined ? undefined : lt(auditLog.timestamp, query.until),
    query.actor === undefined ? undefined : inArray(auditLog.actorId, query.actor),
    query.action === undefined ? undefined : inArray(auditLog.action, actions(query.action)),
  )

/** Older rows may have actions that this version no longer writes. */
const actions = (given: readonly string[]) => given as AuditRow['action'][]

async function readPage<T>(
  { q }: Tx,
  filter: SQL | undefined,
  query: { cursor?: string | undefined; limit: number; total: boolean; whole: boolean },
  view: (row: AuditRow) => T,
): Promise<AuditPage<T>> {
  const after = decodeCursor(query.cursor)
  const limit = query.whole ? EXPORT_ROWS : query.limit
  const found = await q
    .select({ row: auditLog, key: microseconds(auditLog.timestamp) })
    .from(auditLog)
    .where(and(filter, before(auditLog.timestamp, auditLog.id, after)))
    .orderBy(desc(auditLog.timestamp), desc(auditLog.id))
    .limit(limit + 1)
  const page = pageOf(found, limit, ({ key, row }) => ({ at: key, id: row.id }))
  const [total] =
    query.total && !query.whole ? await q.select({ total: count() }).from(auditLog).where(filter) : []
  return {
    items: page.rows.map(({ row }) => view(row)),
    next_cursor: page.nextCursor,
    ...(total === undefined ? {} : total),
  }
}
