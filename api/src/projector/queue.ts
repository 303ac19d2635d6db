import type { Tx } from '../db/scope.ts'

/** How long a claimed mark stays away from the others, longer than one apply may take; a claimer that dies gives it back. */
const CLAIM_SECONDS = 20
const LAST_ERROR_LENGTH = 500

export type Mark = {
  readonly tenantId: string
  /** Exactly as the database wrote it; a later mark has another one. */
  readonly markedAt: string
  readonly attempts: number
}

/** Notes that the Tenant resource may not say what the rows say. Belongs into the transaction that changes the rows. */
export async function markTenant(tx: Tx, tenantId: string): Promise<void> {
  await tx.sql`
    insert into reconcile_queue as queue (tenant_id, marked_at, not_before)
    values (${tenantId}, clock_timestamp(), clock_timestamp())
    on conflict (tenant_id) do update
      set marked_at = clock_timestamp(), not_before = clock_timestamp(), attempts = 0`
}

/** For the full resync: marks every live tenant that carries no mark yet. */
export async function markAllTenants(tx: Tx): Promise<void> {
  await tx.sql`
    insert into reconcile_queue (tenant_id, marked_at, not_before)
    select id, clock_timestamp(), clock_timestamp() from tenants where deleted_at is null
    on conflict (tenant_id) do nothing`
}

/** Takes marks that are due; no two claimers get the same one, and none waits for another. */
export async function claimMarks(tx: Tx, limit: number): Promise<Mark[]> {
  const rows = await tx.sql<{ tenant_id: string; marked_at: string; attempts: number }[]>`
    update reconcile_queue set not_before = clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS}::int)
    where tenant_id in (
      select tenant_id from reconcile_queue where not_before <= clock_timestamp()
      order by not_before limit ${limit}::int for update skip locked
    )
    returning tenant_id, marked_at::text as marked_at, attempts`
  return rows.map((row) => ({ tenantId: row.tenant_id, markedAt: row.marked_at, attempts: row.attempts }))
}

/** Removes a mark, unless the tenant was marked again meanwhile. */
export async function completeMark(tx: Tx, mark: Mark): Promise<void> {
  await tx.sql`
    delete from reconcile_queue
    where tenant_id = ${mark.tenantId} and marked_at = ${mark.markedAt}::text::timestamptz`
}

/** Puts a mark back for later, unless the tenant was marked again meanwhile. */
export async function postponeMark(tx: Tx, mark: Mark, delayMs: number, error: string): Promise<void> {
  await tx.sql`
    update reconcile_queue
    set attempts = ${mark.attempts + 1}::int, last_error = ${error.slice(0, LAST_ERROR_LENGTH)},
        not_before = clock_timestamp() + make_interval(secs => ${delayMs / 1000}::float8)
    where tenant_id = ${mark.tenantId} and marked_at = ${mark.markedAt}::text::timestamptz`
}

/** Marks that wait, for the metrics. */
export async function queueDepth(tx: Tx): Promise<number> {
  const [row] = await tx.sql<{ depth: number }[]>`select count(*)::int as depth from reconcile_queue`
  return row?.depth ?? 0
}
