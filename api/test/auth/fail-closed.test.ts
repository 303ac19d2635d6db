import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bootstrapAdmin, bootstrapOrganization } from '../../src/bootstrap.ts'
import { writeAudit } from '../../src/db/audit.ts'
import { withConnection } from '../../src/db/connection.ts'
import { isForbidden } from '../../src/db/errors.ts'
import { asSystem, forTenant } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'
import { assumeTenant, changePassword, login, logout, resolveSession } from '../../src/verbs/auth/index.ts'
import { findPasswordOwner, setPassword } from '../../src/verbs/auth/set-password.ts'
import { deactivateUser, reactivateUser, updateUser } from '../../src/verbs/user/change.ts'
import type { UserContext } from '../../src/verbs/user/context.ts'
import { createUser } from '../../src/verbs/user/create.ts'
import { resetPassword } from '../../src/verbs/user/reset-password.ts'
import { rowFor } from '../db/rows.ts'
import { attempt, codeOf, createBench, MSSP, PASSWORD, WRONG } from './support.ts'
import type { Bench } from './support.ts'

let bench: Bench
beforeAll(async () => {
  bench = await createBench('fail_closed')
})
afterAll(() => bench.close())

/** Every row of every table, as one text for each table. */
async function everything(): Promise<Record<string, string>> {
  const tables = await bench.superuser<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
  const dump: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await bench.superuser<{ rows: string | null }[]>`
      select string_agg(t::text, chr(10) order by t::text) as rows from ${bench.superuser(name)} t`
    dump[name] = row?.rows ?? ''
  }
  return dump
}

test('without INSERT on the audit log every mutation fails and changes nothing', async () => {
  const ctx = bench.context()
  const user = await bench.user()
  const unknown = `${randomUUID()}@example.test`
  const signIn = async () => {
    const { cookie } = await login(ctx, attempt(user.email, PASSWORD))
    const signedIn = await resolveSession(ctx, { cookie, host: MSSP })
    if (signedIn === null) throw new Error('not signed in')
    return { cookie, ...signedIn, requestId: null }
  }
  const [{ cookie, ...signedIn }, inside, place] = [await signIn(), await signIn(), await bench.tenant()]
  await assumeTenant(ctx, { ...inside, target: { slug: place.slug } })
  const entered = await resolveSession(ctx, { cookie: inside.cookie, host: MSSP })
  if (entered === null) throw new Error('not signed in')
  const resting = await bench.user({ active: false })
  const tenant = randomUUID()
  const target = { principal: signedIn.principal, requestId: null, id: (await bench.user()).id }
  const users: UserContext = { ...ctx, hashPassword: (password) => ctx.hasher.hash(password) }
  await bench.superuser`revoke insert on audit_log from service_app, service_mssp`
  const before = await everything()

  const mutations: Readonly<Record<string, () => Promise<unknown>>> = {
    login: () => login(ctx, attempt(user.email, PASSWORD)),
    'failed login': () => login(ctx, attempt(user.email, WRONG)),
    'login of nobody': () => login(ctx, attempt(unknown, WRONG)),
    logout: () => logout(ctx, { cookie, requestId: null }),
    'password change': () =>
      changePassword(ctx, {
        ...signedIn,
        old_password: PASSWORD,
        new_password: 'another password',
      }),
    'failed password change': () =>
      changePassword(ctx, {
        ...signedIn,
        old_password: WRONG,
        new_password: 'another password',
      }),
    'entering a tenant': () => assumeTenant(ctx, { ...signedIn, target: { slug: place.slug } }),
    'leaving a tenant': () => assumeTenant(ctx, { ...entered, requestId: null, target: {} }),
    'user creation': () => createUser(users, { ...target, user: { email: unknown, role: 'analyst' } }),
    'role change': () => updateUser(users, { ...target, change: { role: 'analyst' } }),
    deactivation: () => deactivateUser(users, target),
    reactivation: () => reactivateUser(users, { ...target, id: resting.id }),
    'password reset': () => resetPassword(users, target),
    'service-auth, looking for the user': () => findPasswordOwner(users, user.email),
    'service-auth, setting the password': () =>
      setPassword(users, { user: { ...user, tenantId: null }, password: 'another password' }),
    'system job': () => asSystem(bench.db, 'test', (tx) => tx.sql`update tenants set slug = slug`),
    'tenant creation': () =>
      forTenant(bench.db, tenant, async (tx) => {
        await tx.sql`insert into tenants ${tx.sql(rowFor('tenants', tenant))}`
        await writeAudit(tx, {
          principal: signedIn.principal,
          action: 'tenant.create',
          tenantId: tenant,
          resourceType: 'tenant',
          resourceId: tenant,
          requestId: null,
        })
      }),
  }
  for (const [name, mutate] of Object.entries(mutations))
    await expect(mutate(), name).rejects.toSatisfy(isForbidden, name)
  expect(await everything()).toEqual(before)

  await bench.superuser`grant insert on audit_log to service_app, service_mssp`
  expect(await codeOf(login(ctx, attempt(user.email, PASSWORD)))).toBe('ok')
})

test('an audit row that fails after the password was verified takes the whole attempt back', async () => {
  const ctx = bench.context()
  const user = await bench.user()
  await bench.superuser.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'disk full' using errcode = '53100'; end $$;
    create trigger refuse before insert on audit_log for each row execute function refuse()`)
  const before = await everything()
  for (const password of [PASSWORD, WRONG])
    expect(await codeOf(login(ctx, attempt(user.email, password)))).toBe('53100')
  const after = await everything()
  // The window of the reservation may have been opened; no failure is counted in it.
  const [credential] = await bench.superuser<{ consecutive_failures: number; locked_until: Date | null }[]>`
    select consecutive_failures, locked_until from password_credentials where user_id = ${user.id}`
  expect(credential).toEqual({ consecutive_failures: 0, locked_until: null })
  expect({ ...after, password_credentials: '' }).toEqual({ ...before, password_credentials: '' })
  await bench.superuser`drop trigger refuse on audit_log`
})

test('the first administrator is made once, and a restart changes nothing', async () => {
  await bench.superuser`delete from sessions`
  await bench.superuser`delete from users where tenant_id is null`
  const { admin } = bench.database.urls
  const init = { adminUrl: admin, clock: () => new Date(), log: silent }
  const first = { ...init, email: 'Admin@Example.test', password: PASSWORD, mustChange: true }
  const made = await Promise.all([bootstrapAdmin(first), bootstrapAdmin(first), bootstrapAdmin(first)])
  expect(made.filter(Boolean)).toHaveLength(1)

  const ctx = bench.context()
  const { cookie } = await login(ctx, attempt('admin@example.test', PASSWORD))
  const signedIn = await resolveSession(ctx, { cookie, host: MSSP })
  expect(signedIn?.session).toMatchObject({ role: 'platform_admin', mustChange: true })
  if (signedIn === null) return
  await changePassword(ctx, {
    ...signedIn,
    old_password: PASSWORD,
    new_password: 'my own password',
    requestId: null,
  })
  const before = await everything()
  expect(await bootstrapAdmin({ ...first, password: 'from the secret again' })).toBe(false)
  expect(await bootstrapAdmin({ ...first, email: 'other@example.test' })).toBe(false)
  expect(await everything()).toEqual(before)
  expect(await codeOf(login(ctx, attempt('admin@example.test', 'my own password')))).toBe('ok')
})

test('the install’s own row keeps its ids and follows its names', async () => {
  const [installId, msspId] = [randomUUID(), randomUUID()]
  const init = { adminUrl: bench.database.urls.admin, clock: () => new Date(), log: silent }
  const names = { installId, msspId, msspName: 'M', installLabel: 'one' }
  await Promise.all([
    bootstrapOrganization({ ...init, ...names }),
    bootstrapOrganization({ ...init, ...names }),
  ])
  await bootstrapOrganization({ ...init, ...names, installLabel: 'two' })
  const rows = await bench.superuser`select install_id, mssp_name, install_label from organization`
  expect([...rows]).toEqual([{ install_id: installId, mssp_name: 'M', install_label: 'two' }])
  const audited = await bench.superuser`select 1 from audit_log where action = 'system.bootstrap'`
  expect(audited).toHaveLength(2)
  await expect(bootstrapOrganization({ ...init, ...names, installId: randomUUID() })).rejects.toThrow(
    /another install/,
  )
})

test('the owner cannot make administrators by hand past the policies', async () => {
  const user = { id: randomUUID(), email: 'x@example.test', display_name: 'X', role: 'platform_admin' }
  await withConnection(bench.database.urls.admin, 'test', async (sql) => {
    await expect(sql`insert into users ${sql(user)}`).rejects.toSatisfy(isForbidden)
  })
})
