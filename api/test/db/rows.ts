import { randomUUID } from 'node:crypto'
import type { Sql } from '../../src/db/connection.ts'

type Row = Readonly<Record<string, unknown>>

/** One valid row of a tenant for every isolated table; a new table needs one here, or the isolation test fails. */
export const ROWS: Readonly<Record<string, (tenantId: string) => Row>> = {
  tenants: (id) => ({
    id,
    slug: `t-${id.slice(-12)}`,
    display_name: 'T',
    profile: 'pilot',
    placement: 'cluster',
    state: 'pending',
    config: '{}',
  }),
  tenant_statuses: (tenant_id) => ({ tenant_id, conditions: '[]', steps: '[]' }),
  tenant_installations: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    release_name: 'r',
    namespace: 'n',
    chart_ref: 'c',
    desired_chart_version: '1',
  }),
  tenant_secrets: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    namespace: 'n',
    name: randomUUID(),
    version_label: '1',
  }),
  tenant_lifecycle_events: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    kind: 'tenant.created',
    actor_id: 'x',
    details: '{}',
  }),
  tenant_heartbeats: (tenant_id) => ({
    tenant_id,
    version: '1',
    health: 'ok',
    last_heartbeat_at: new Date(),
  }),
  integration_configs: (tenant_id) => ({ tenant_id, llm_provider: 'p', llm_base_url: '', llm_model: 'm' }),
  branding_configs: (tenant_id) => ({ tenant_id, app_name: 'a' }),
  reconcile_queue: (tenant_id) => ({ tenant_id }),
  adapter_checkpoints: (tenant_id) => ({ tenant_id, source: 'wazuh' }),
  events: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    aggregate_type: 'source_event',
    aggregate_id: randomUUID(),
    seq: 1,
    kind: 'event.ingested',
    payload: '{}',
    idempotency_key: randomUUID(),
  }),
  users: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    email: `${randomUUID()}@example.test`,
    display_name: 'U',
    role: 'tenant_admin',
  }),
  audit_log: (tenant_id) => ({
    id: randomUUID(),
    tenant_id,
    actor_principal: 'System',
    actor_id: 'system:test',
    action: 'system.enter',
    resource_type: 'x',
  }),
}

/** Every table with a `tenant_id`, as the catalogue knows them, and `tenants`. */
export async function isolatedTables(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      left join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where n.nspname = 'public' and c.relkind in ('r', 'p', 'v', 'm', 'f')
       and (a.attname is not null or c.relname = 'tenants')
     order by (c.relname <> 'tenants'), c.relname`
  return rows.map((row) => row.name)
}

export const rowFor = (table: string, tenantId: string): Row => {
  const make = ROWS[table]
  if (make === undefined) throw new Error(`no test row for table ${table}: add one to rows.ts`)
  return make(tenantId)
}
