import { migrate, withConnection } from '@service/api/database'

/** The drill's own lines are all that it says. */
export const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Writers of these tenants share the pool. */
export const TENANTS: readonly string[] = Array.from({ length: 4 }, () => crypto.randomUUID())

/**
 * The service's own schema, and beside it a table without row-level security, so that a statement that lands in
 * another's transaction is written down instead of refused: each row says whose it is, and in which transaction and
 * under which tenant the server has seen it.
 */
export async function prepareLedger(adminUrl: string, superuserUrl: string): Promise<void> {
  await migrate({ adminUrl, log: silent })
  await withConnection(adminUrl, 'drill', async (sql) => {
    await sql`
      create table public.drill_rows (
        txn uuid not null,
        n integer not null,
        tenant uuid,
        seen_tenant text not null default coalesce(current_setting('app.current_tenant_id', true), ''),
        seen_xid xid8 not null default pg_current_xact_id()
      )`
    await sql`grant select, insert on public.drill_rows to service_app`
  })
  await withConnection(inService(superuserUrl, adminUrl), 'drill', async (sql) => {
    for (const [index, id] of TENANTS.entries()) {
      await sql`
        insert into public.tenants (id, slug, display_name, profile, placement, state, config)
        values (${id}, ${`drill-${index}`}, 'Drill', 'pilot', 'cluster', 'active', '{}'::jsonb)`
    }
  })
}

/** The superuser, connected to the service's database. */
export function inService(superuserUrl: string, adminUrl: string): string {
  const url = new URL(superuserUrl)
  url.pathname = new URL(adminUrl).pathname
  return url.href
}

export type Findings = {
  /** Acknowledged transactions of which a row is missing. */
  readonly lost: number
  /** Transactions, acknowledged or not, of which only a part is there. */
  readonly torn: number
  /** Rows seen under another tenant, and transactions of the server that hold rows of more than one of ours. */
  readonly mixed: number
}

export type Acknowledged = { readonly txn: string; readonly rows: number; readonly event: boolean }

/** Compares what was acknowledged with what is there, and empties the ledger. */
export async function auditLedger(url: string, acknowledged: readonly Acknowledged[]): Promise<Findings> {
  return withConnection(url, 'drill', async (sql) => {
    const there = await sql<{ txn: string; rows: number; distinct: number }[]>`
      select txn, count(*)::int as rows, count(distinct n)::int as distinct from public.drill_rows group by txn`
    const stored = await sql<{ key: string }[]>`
      select idempotency_key as key from public.events where aggregate_type = 'drill'`
    const [strangers] = await sql<{ tenants: number; shared: number; split: number }[]>`
      select
        (select count(*)::int from public.drill_rows where coalesce(tenant::text, '') <> seen_tenant) as tenants,
        (select count(*)::int from (
          select from public.drill_rows group by seen_xid having count(distinct txn) > 1) as x) as shared,
        (select count(*)::int from (
          select from public.drill_rows group by txn having count(distinct seen_xid) > 1) as y) as split`
    const [events] = await sql<{ wrong: number }[]>`
      select count(*)::int as wrong from public.events e where aggregate_type = 'drill' and not exists (
        select from public.drill_rows r where r.txn::text = e.idempotency_key and r.tenant = e.tenant_id)`
    await sql`truncate public.drill_rows`
    await sql`delete from public.events where aggregate_type = 'drill'`
    const rows = new Map(there.map((each) => [each.txn, each]))
    const keys = new Set(stored.map((each) => each.key))
    const complete = ({ txn, rows: expected, event }: Acknowledged): boolean =>
      rows.get(txn)?.rows === expected && (!event || keys.has(txn))
    const whole = new Map(acknowledged.map((each) => [each.txn, each.rows]))
    return {
      lost: acknowledged.filter((each) => !complete(each)).length,
      torn: there.filter(({ txn, rows, distinct }) => rows !== distinct || rows !== (whole.get(txn) ?? 2))
        .length,
      mixed:
        (strangers?.tenants ?? 0) + (strangers?.shared ?? 0) + (strangers?.split ?? 0) + (events?.wrong ?? 0),
    }
  })
}
