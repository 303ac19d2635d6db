import type { Sql } from './connection.ts'

/** What is wrong with the isolation of tenants in this database; the rules read only the catalogue. */
export type Finding = { readonly rule: string; readonly object: string; readonly message: string }

const OWNER = 'service_admin'
const DEFINER = 'service_definer'
const RUNTIME = ['service_app', 'service_mssp']
/** Reached through functions only (decision 8b). */
const CLOSED_TABLES = ['sessions', 'password_credentials', 'login_shadows', 'idempotency_keys']
const APPEND_ONLY = ['audit_log', 'tenant_lifecycle_events', 'events']
/** A tenant's row may lack a tenant: MSSP users, and what happened to the install. */
const NULLABLE_TENANT = ['users', 'audit_log']
/** Unique over the install on purpose: an e-mail address (decision 4); ids of rows that may lack a tenant. */
const INSTALL_WIDE_KEYS = ['users_email', 'users_pkey', 'audit_log_pkey']

const contextIs = (column: string) =>
  `(${column} = ( SELECT (NULLIF(current_setting('app.current_tenant_id'::text, true), ''::text))::uuid AS "nullif"))`

type Policy = { name: string; command: string; using: string | null; check: string | null }
type Relation = {
  name: string
  schema: string
  kind: string
  owner: string
  forced: boolean
  enabled: boolean
  invoker: boolean
  tenant_type: string | null
  tenant_not_null: boolean | null
}

/** Empty when every rule holds. `sql` may be of any role: the catalogue is open to all. */
export async function lintIsolation(sql: Sql): Promise<Finding[]> {
  const relations = await readRelations(sql)
  const parts = await Promise.all([
    policyFindings(sql, relations),
    grantFindings(sql),
    functionFindings(sql),
    roleFindings(sql),
    keyFindings(sql),
  ])
  return [...relations.flatMap(relationFindings), ...parts.flat()]
}

const readRelations = (sql: Sql): Promise<Relation[]> => sql<Relation[]>`
  select c.relname as name, n.nspname as schema, c.relkind::text as kind, pg_get_userbyid(c.relowner) as owner,
         c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
         coalesce(c.reloptions @> array['security_invoker=true'] or c.reloptions @> array['security_invoker=on'], false)
           as invoker,
         format_type(a.atttypid, a.atttypmod) as tenant_type, a.attnotnull as tenant_not_null
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_attribute a
      on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
   where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
     and n.nspname !~ '^pg_(toast|temp)'
   order by 1`

const isIsolated = (relation: Relation): boolean =>
  relation.tenant_type !== null || (relation.schema === 'public' && relation.name === 'tenants')

function relationFindings(relation: Relation): Finding[] {
  const { name, kind } = relation
  const found: Finding[] = []
  const say = (rule: string, message: string) => found.push({ rule, object: name, message })
  if (relation.schema !== 'public') say('schema', `stands in schema ${relation.schema}, not in public`)
  if (relation.owner !== OWNER) say('owner', `belongs to ${relation.owner}, not to ${OWNER}`)
  if (kind === 'v' && !relation.invoker) say('view', 'is a view without security_invoker')
  if (kind === 'm') say('view', 'is a materialized view, which no policy binds')
  if (kind === 'f') say('view', 'is a foreign table, which no policy binds')
  if (!isIsolated(relation) || (kind !== 'r' && kind !== 'p')) return found
  if (!relation.enabled) say('enable', 'has row-level security switched off')
  if (!relation.forced) say('force', 'does not force row-level security on its owner')
  if (relation.tenant_type !== null && relation.tenant_type !== 'uuid')
    say('tenant_id', 'has a tenant_id that is no uuid')
  if (relation.tenant_not_null === false && !NULLABLE_TENANT.includes(name))
    say('tenant_id', 'has a tenant_id that may be null')
  return found
}

function expectedPolicies(table: string): Policy[] {
  const context = contextIs(table === 'tenants' ? 'id' : 'tenant_id')
  if (table === 'audit_log')
    return [
      { name: 'audit_read', command: 'r', using: context, check: null },
      { name: 'audit_write', command: 'a', using: null, check: context },
    ]
  return [{ name: 'tenant_isolation', command: '*', using: context, check: context }]
}

/** Exactly the expected policies and no others: a second permissive one would widen the first. */
async function policyFindings(sql: Sql, relations: readonly Relation[]): Promise<Finding[]> {
  const rows = await sql<(Policy & { table: string; everyone: boolean; permissive: boolean })[]>`
    select c.relname as table, p.polname as name, p.polcmd::text as command, p.polpermissive as permissive,
           p.polroles::oid[] = array[0::oid] as everyone,
           pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check
      from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid order by 1, 2`
  const found: Finding[] = []
  for (const { name: table } of relations.filter((each) => isIsolated(each) && 'rp'.includes(each.kind))) {
    const say = (message: string) => found.push({ rule: 'policy', object: table, message })
    const policies = rows.filter((row) => row.table === table)
    const expected = expectedPolicies(table)
    for (const want of expected) {
      const have = policies.find((policy) => policy.name === want.name)
      if (have === undefined) say(`has no policy ${want.name}`)
      else if (have.command !== want.command) say(`has policy ${want.name} for other commands`)
      else if (!have.permissive) say(`has policy ${want.name} as a restrictive one`)
      else if (!have.everyone) say(`has policy ${want.name} with a TO clause`)
      else if (!sameText(have.using, want.using) || !sameText(have.check, want.check))
        say(`has policy ${want.name} with another condition`)
    }
    for (const { name } of policies)
      if (!expected.some((want) => want.name === name)) say(`has a policy too many: ${name}`)
  }
  return found
}

const sameText = (have: string | null, want: string | null): boolean =>
  have?.replaceAll(/\s+/g, ' ') === want?.replaceAll(/\s+/g, ' ')

type Grant = { table: string; grantee: string; privilege: string; column: string | null }

async function grantFindings(sql: Sql): Promise<Finding[]> {
  const grants = await sql<Grant[]>`
    select c.relname as table, null as column, x.privilege_type as privilege,
           case x.grantee when 0 then 'PUBLIC' else pg_get_userbyid(x.grantee) end as grantee
      from pg_catalog.pg_class c, aclexplode(c.relacl) x
     where c.relnamespace = 'public'::regnamespace
    union all
    select c.relname, a.attname, x.privilege_type,
           case x.grantee when 0 then 'PUBLIC' else pg_get_userbyid(x.grantee) end
      from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid, aclexplode(a.attacl) x
     where c.relnamespace = 'public'::regnamespace`
  return grants
    .filter((grant) => !isAllowed(grant))
    .map(({ table, grantee, privilege, column }) => ({
      rule: 'grant',
      object: table,
      message: `gives ${privilege}${column === null ? '' : ` of ${column}`} to ${grantee}`,
    }))
}

function isAllowed({ table, grantee, privilege }: Grant): boolean {
  if (grantee === OWNER) return true
  if (grantee === DEFINER) return ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].includes(privilege)
  if (!RUNTIME.includes(grantee) || CLOSED_TABLES.includes(table)) return false
  if (APPEND_ONLY.includes(table)) return privilege === 'SELECT' || privilege === 'INSERT'
  return ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].includes(privilege)
}

async function functionFindings(sql: Sql): Promise<Finding[]> {
  const rows = await sql<
    { name: string; owner: string; login: boolean; definer: boolean; path: string | null; open: boolean }[]
  >`
    select p.oid::regprocedure::text as name, r.rolname as owner, r.rolcanlogin as login, p.prosecdef as definer,
           (select s from unnest(p.proconfig) s where s like 'search_path=%') as path,
           p.proacl is null or exists (select from aclexplode(p.proacl) x where x.grantee = 0) as open
      from pg_catalog.pg_proc p join pg_catalog.pg_roles r on r.oid = p.proowner
     where p.pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema') order by 1`
  const found: Finding[] = []
  for (const row of rows) {
    const say = (message: string) => found.push({ rule: 'function', object: row.name, message })
    if (row.open) say('may be executed by everyone')
    if (!row.definer) continue
    if (row.path !== 'search_path=pg_catalog, pg_temp')
      say('is SECURITY DEFINER without the fixed search_path')
    if (row.owner !== DEFINER || row.login) say(`is SECURITY DEFINER and belongs to ${row.owner}`)
  }
  return found
}

/** Attributes and memberships; what each role must and must not be able to do. */
async function roleFindings(sql: Sql): Promise<Finding[]> {
  const roles = await sql<{ name: string; login: boolean; bypass: boolean; powers: boolean }[]>`
    select rolname as name, rolcanlogin as login, rolbypassrls as bypass,
           rolsuper or rolcreaterole or rolcreatedb or rolreplication as powers
      from pg_catalog.pg_roles where rolname like 'service\_%'`
  const members = await sql<{ member: string; role: string; inherit: boolean; admin: boolean }[]>`
    select pg_get_userbyid(member) as member, pg_get_userbyid(roleid) as role, inherit_option as inherit,
           admin_option as admin
      from pg_catalog.pg_auth_members`
  const wanted = [
    { name: OWNER, login: true, bypass: false },
    { name: 'service_app', login: true, bypass: false },
    { name: 'service_mssp', login: true, bypass: true },
    { name: DEFINER, login: false, bypass: true },
  ]
  const found: Finding[] = []
  const say = (object: string, message: string) => found.push({ rule: 'role', object, message })
  for (const want of wanted) {
    const have = roles.find((role) => role.name === want.name)
    if (have === undefined) say(want.name, 'does not exist')
    else {
      if (have.login !== want.login) say(want.name, have.login ? 'may log in' : 'may not log in')
      if (have.bypass !== want.bypass) say(want.name, `has BYPASSRLS ${have.bypass ? 'on' : 'off'}`)
      if (have.powers) say(want.name, 'may do what only an administrator needs')
    }
  }
  for (const { member, role, inherit, admin } of members) {
    if (RUNTIME.includes(member) || member === DEFINER) say(member, `is a member of ${role}`)
    if (member === OWNER && (inherit || admin)) say(member, `has the rights of ${role} without asking`)
  }
  return found
}

/** Keys that cross tenants tell whether another tenant's row exists; references must carry the tenant. */
async function keyFindings(sql: Sql): Promise<Finding[]> {
  const unique = await sql<{ table: string; index: string }[]>`
    select c.relname as table, i.relname as index
      from pg_catalog.pg_index x
      join pg_catalog.pg_class c on c.oid = x.indrelid join pg_catalog.pg_class i on i.oid = x.indexrelid
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
     where x.indisunique and c.relkind in ('r', 'p') and not a.attnum = any (x.indkey::int2[])`
  const references = await sql<{ table: string; key: string; target: string }[]>`
    select c.relname as table, k.conname as key, t.relname as target
      from pg_catalog.pg_constraint k
      join pg_catalog.pg_class c on c.oid = k.conrelid join pg_catalog.pg_class t on t.oid = k.confrelid
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
     where k.contype = 'f' and not a.attnum = any (k.conkey)`
  return [
    ...unique
      .filter(({ index }) => !INSTALL_WIDE_KEYS.includes(index))
      .map(({ table, index }) => ({
        rule: 'key',
        object: table,
        message: `${index} is unique across tenants`,
      })),
    ...references
      .filter(({ target }) => target !== 'users')
      .map(({ table, key, target }) => ({
        rule: 'key',
        object: table,
        message: `${key} refers to ${target} without the tenant`,
      })),
  ]
}
