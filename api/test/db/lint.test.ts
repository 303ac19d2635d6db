import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { connect } from '../../src/db/connection.ts'
import type { Sql } from '../../src/db/connection.ts'
import { lintIsolation } from '../../src/db/lint.ts'

let database: TestDatabase
let superuser: Sql

beforeAll(async () => {
  database = await createTestDatabase('lint')
  superuser = connect(database.superuserUrl, { max: 1, applicationName: 'test' })
})
afterAll(async () => {
  await superuser.end({ timeout: 5 })
  await database.drop()
})

test('the migrated database has nothing to find', async () => {
  expect(await lintIsolation(superuser)).toEqual([])
})

const POLICY = `tenant_id = (select nullif(current_setting('app.current_tenant_id', true), '')::uuid)`
const OWNED = 'set local role service_admin;'

/** What somebody might do one day, and the rule that has to notice. */
const MUTANTS: readonly (readonly [string, string, string])[] = [
  ['FORCE dropped', 'alter table events no force row level security', 'force'],
  ['row-level security off', 'alter table tenant_secrets disable row level security', 'enable'],
  ['policy missing', 'drop policy tenant_isolation on branding_configs', 'policy'],
  ['USING true', 'alter policy tenant_isolation on events using (true)', 'policy'],
  ['WITH CHECK true', `alter policy tenant_isolation on users using (${POLICY}) with check (true)`, 'policy'],
  [
    'null tenants let through',
    `alter policy tenant_isolation on users using (${POLICY} or tenant_id is null)`,
    'policy',
  ],
  ['TO clause', 'alter policy tenant_isolation on events to service_app', 'policy'],
  ['a second, wider policy', 'create policy helpful on events for select using (true)', 'policy'],
  [
    'restrictive instead of permissive',
    `drop policy tenant_isolation on events; create policy tenant_isolation on events as restrictive using (${POLICY}) with check (${POLICY})`,
    'policy',
  ],
  ['audit rows open for everyone to read', 'alter policy audit_read on audit_log using (true)', 'policy'],
  [
    'audit rows that can be changed',
    `create policy audit_fix on audit_log for update using (${POLICY})`,
    'policy',
  ],
  ['tenants without a policy', 'drop policy tenant_isolation on tenants', 'policy'],
  ['a new table without any', `${OWNED} create table fresh (tenant_id uuid not null)`, 'enable'],
  ['a tenant_id that may be null', `${OWNED} create table fresh (tenant_id uuid)`, 'tenant_id'],
  ['a tenant_id of another type', `${OWNED} create table fresh (tenant_id text not null)`, 'tenant_id'],
  ['a view of the definer', `${OWNED} create view peek as select * from events`, 'view'],
  [
    'a view of the definer without tenant_id',
    `${OWNED} create view peek as select payload from events`,
    'view',
  ],
  ['a materialized view', `${OWNED} create materialized view peek as select * from events`, 'view'],
  ['a table of another owner', 'create table fresh (id uuid)', 'owner'],
  [
    'a table in another schema',
    'create schema aside; create table aside.fresh (tenant_id uuid not null)',
    'schema',
  ],
  ['a grant on sessions', 'grant select on sessions to service_app', 'grant'],
  [
    'a grant on one column of the credentials',
    'grant select (password_hash) on password_credentials to service_mssp',
    'grant',
  ],
  ['UPDATE on the audit log', 'grant update on audit_log to service_app', 'grant'],
  ['DELETE on the event store', 'grant delete on events to service_mssp', 'grant'],
  ['TRUNCATE', 'grant truncate on branding_configs to service_app', 'grant'],
  ['a grant to everyone', 'grant select on tenants to public', 'grant'],
  [
    'a definer function without search_path',
    `${OWNED} create function peek() returns int language sql security definer as 'select 1'; reset role; alter function peek() owner to service_definer`,
    'function',
  ],
  [
    'a definer function with a path of the caller’s',
    'alter function prune_audit(integer) set search_path = public',
    'function',
  ],
  [
    'a definer function of a role that logs in',
    'alter function prune_audit(integer) owner to service_mssp',
    'function',
  ],
  [
    'a function for everyone',
    'grant execute on function session_revoke(uuid, timestamptz) to public',
    'function',
  ],
  ['the runtime role bypasses', 'alter role service_app bypassrls', 'role'],
  ['the definer may log in', 'alter role service_definer login', 'role'],
  ['the runtime role becomes the definer', 'grant service_definer to service_app', 'role'],
  ['the owner inherits the bypass role', 'grant service_mssp to service_admin with inherit true', 'role'],
  ['the runtime role is a superuser', 'alter role service_mssp superuser', 'role'],
  ['a key across tenants', 'create unique index peek on events (idempotency_key)', 'key'],
  [
    'a reference without the tenant',
    'alter table audit_log add constraint bad foreign key (acting_as) references tenants (id)',
    'key',
  ],
]

describe('each mutant is caught', () => {
  test.each(MUTANTS)('%s', async (_name, mutation, rule) => {
    const undo = new Error('undo')
    let rules: string[] = []
    await superuser
      .begin(async (tx) => {
        await tx.unsafe(mutation)
        await tx`reset role`
        rules = (await lintIsolation(tx as unknown as Sql)).map((finding) => finding.rule)
        throw undo
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error
      })
    expect(rules).toContain(rule)
  })

  test('and a view with security_invoker is none', async () => {
    const undo = new Error('undo')
    let findings: unknown
    await superuser
      .begin(async (tx) => {
        await tx.unsafe(
          `${OWNED} create view fine with (security_invoker = true) as select payload from events`,
        )
        await tx`reset role`
        findings = await lintIsolation(tx as unknown as Sql)
        throw undo
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error
      })
    expect(findings).toEqual([])
  })
})
