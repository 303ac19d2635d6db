import { randomUUID } from 'node:crypto'
import { LOCKOUT, type UserPrincipal } from '@service/domain'
import { User, UserCreated } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isForbidden } from '../../src/db/errors.ts'
import { asInstall, forTenant } from '../../src/db/scope.ts'
import { login, resolveSession } from '../../src/verbs/auth/index.ts'
import { deactivateUser, reactivateUser, updateUser } from '../../src/verbs/user/change.ts'
import type { UserContext } from '../../src/verbs/user/context.ts'
import { createUser } from '../../src/verbs/user/create.ts'
import { getUser, listUsers } from '../../src/verbs/user/read.ts'
import { resetPassword } from '../../src/verbs/user/reset-password.ts'
import { attempt, type Bench, codeOf, createBench, MSSP, PASSWORD, WRONG } from '../auth/support.ts'

let bench: Bench
let ctx: UserContext
let tenant: Awaited<ReturnType<Bench['tenant']>>
let owner: UserPrincipal
let staff: UserPrincipal
let customer: UserPrincipal

const principal = (user: { id: string }, role: string, tenantId: string | null = null): UserPrincipal =>
  ({
    kind: 'user',
    audience: tenantId === null ? 'mssp' : 'tenant',
    userId: user.id,
    role,
    tenantId,
    currentTenant: null,
    sessionId: null,
  }) as UserPrincipal

beforeAll(async () => {
  bench = await createBench('users')
  const hashPassword = (password: string) => bench.hasher.hash(password)
  ctx = { db: bench.db, clock: () => new Date(), authMode: 'internal', hashPassword }
  tenant = await bench.tenant()
  owner = principal(await bench.user({ role: 'platform_admin' }), 'platform_admin')
  staff = principal(await bench.user({ role: 'mssp_admin' }), 'mssp_admin')
  customer = principal(await bench.user({ tenantId: tenant.id }), 'tenant_admin', tenant.id)
})
afterAll(() => bench.close())

const by = (who: UserPrincipal) => ({ principal: who, requestId: 'r-users' })
const address = () => `${randomUUID()}@Example.test`
const analyst = () => bench.user({ role: 'analyst' })
const signIn = (email: string, password = PASSWORD, host = MSSP) =>
  login(bench.context(), attempt(email, password, host))
const alive = async (cookie: string, host = MSSP): Promise<boolean> =>
  (await resolveSession(bench.context(), { cookie, host })) !== null
const auditOf = (id: string) =>
  bench.superuser<Record<string, unknown>[]>`
    select action, actor_id, tenant_id, before, after, request_id from audit_log
     where resource_id = ${id} and action not like 'auth.login.%' order by id`

describe('a new user', () => {
  test('signs in once with the temporary password, at the own side only, and has to change it', async () => {
    const email = address()
    const made = await createUser(ctx, { ...by(staff), user: { email, role: 'analyst' } })
    expect(v.parse(UserCreated, made)).toMatchObject({
      email: email.toLowerCase(),
      display_name: email,
      role: 'analyst',
      tenant_id: null,
      active: true,
      must_change: true,
      last_login_at: null,
    })
    const password = made.temporary_password ?? ''
    expect(password).toHaveLength(24)
    expect((await signIn(email, password)).response.must_change).toBe(true)
    expect(await codeOf(signIn(email, password, tenant.host))).toBe('invalid_credentials')
    const after = { email: email.toLowerCase(), display_name: email, role: 'analyst', active: true }
    const row = { action: 'user.create', actor_id: staff.userId, tenant_id: null, before: null, after }
    expect(await auditOf(made.id)).toEqual([{ ...row, request_id: 'r-users' }])
    expect(JSON.stringify(await auditOf(made.id))).not.toContain(password)
  })

  test('of a tenant belongs to it, with its audit row', async () => {
    const user = { email: address(), role: 'tenant_analyst', display_name: 'Ann' } as const
    const made = await createUser(ctx, { ...by(customer), user })
    expect(made).toMatchObject({ tenant_id: tenant.id, display_name: 'Ann' })
    expect(await auditOf(made.id)).toMatchObject([{ action: 'user.create', tenant_id: tenant.id }])
    expect(await codeOf(signIn(user.email, made.temporary_password ?? '', tenant.host))).toBe('ok')
  })

  test('needs an address that nobody has, on either side, in any case, also in a race', async () => {
    const { email } = await bench.user({ tenantId: tenant.id })
    const again = { email: email.toUpperCase(), role: 'analyst' } as const
    expect(await codeOf(createUser(ctx, { ...by(staff), user: again }))).toBe('email_taken')
    const user = { email: address(), role: 'analyst' } as const
    const racing = Array.from({ length: 4 }, () => codeOf(createUser(ctx, { ...by(staff), user })))
    expect((await Promise.all(racing)).toSorted()).toEqual([
      'email_taken',
      'email_taken',
      'email_taken',
      'ok',
    ])
  })

  test('has no password in proxy mode', async () => {
    const proxy = { ...ctx, authMode: 'proxy' } as const
    const made = await createUser(proxy, { ...by(staff), user: { email: address(), role: 'analyst' } })
    expect(made).toMatchObject({ temporary_password: null, must_change: false })
    const found = await bench.superuser`select from password_credentials where user_id = ${made.id}`
    expect(found).toHaveLength(0)
  })
})

describe('the lists', () => {
  test('show the own side only, newest first, page by page, filtered', async () => {
    const other = await bench.tenant()
    const reader = principal(await bench.user({ tenantId: other.id }), 'tenant_admin', other.id)
    const query = {
      limit: 2,
      total: true,
      cursor: undefined,
      role: undefined,
      active: undefined,
      q: undefined,
    }
    const ids: string[] = []
    for (const name of ['Ada', 'Bob', 'Cid', 'Dan']) {
      const user = { email: address(), role: 'customer_viewer', display_name: name } as const
      ids.unshift((await createUser(ctx, { ...by(reader), user })).id)
    }
    const first = await listUsers(ctx, { principal: reader, query })
    expect(first).toMatchObject({ total: 5, items: [{ id: ids[0], must_change: true }, { id: ids[1] }] })
    const cursor = first.next_cursor ?? ''
    const second = await listUsers(ctx, { principal: reader, query: { ...query, cursor } })
    expect(second.items.map(({ id }) => id)).toEqual(ids.slice(2))
    const filtered = async (filter: object) =>
      (await listUsers(ctx, { principal: reader, query: { ...query, ...filter } })).items.length
    await deactivateUser(ctx, { ...by(reader), id: ids[0] ?? '' })
    expect(await filtered({ active: false })).toBe(1)
    expect(await filtered({ q: 'cI' })).toBe(1)
    expect(await filtered({ q: '%' })).toBe(0)
    expect(await filtered({ role: ['tenant_admin'] })).toBe(1)

    const seen = await listUsers(ctx, { principal: owner, query: { ...query, limit: 200 } })
    expect(seen.items.length).toBeGreaterThan(2)
    expect(seen.items.every(({ tenant_id }) => tenant_id === null)).toBe(true)
    expect(v.parse(User, await getUser(ctx, { principal: owner, id: staff.userId })).id).toBe(staff.userId)
  })
})

describe('whoever is not of the own side is unknown', () => {
  const doings = (who: UserPrincipal, id: string): (() => Promise<unknown>)[] => [
    () => getUser(ctx, { principal: who, id }),
    () => updateUser(ctx, { ...by(who), id, change: { display_name: 'Eve' } }),
    () => deactivateUser(ctx, { ...by(who), id }),
    () => reactivateUser(ctx, { ...by(who), id }),
    () => resetPassword(ctx, { ...by(who), id }),
  ]
  test('also a foreign tenant’s, and the database sees to it, too', async () => {
    const other = await bench.tenant()
    const foreign = await bench.user({ tenantId: other.id })
    const pairs = [
      [customer, foreign.id],
      [customer, staff.userId],
      [owner, customer.userId],
      [owner, randomUUID()],
    ] as const
    for (const [who, id] of pairs)
      for (const doing of doings(who, id)) expect(await codeOf(doing())).toBe('not_found')
    for (const scope of [other.id, null]) {
      const reach = forTenant(bench.db, tenant.id, ({ sql }) =>
        sql`select * from public.user_lock(${scope}, ${foreign.id}, 'tenant_admin')`.execute(),
      )
      await expect(reach).rejects.toSatisfy(isForbidden)
    }
    const fromInstall = asInstall(bench.db, ({ sql }) =>
      sql`select public.user_must_change(${other.id}, ${foreign.id})`.execute(),
    )
    await expect(fromInstall).rejects.toSatisfy(isForbidden)
  })
})

describe('a change', () => {
  test('of the role ends the sessions of the target, of the name does not; nothing new writes nothing', async () => {
    const user = await analyst()
    const { cookie } = await signIn(user.email)
    const other = await signIn((await analyst()).email)
    const target = { ...by(staff), id: user.id }
    expect(await updateUser(ctx, { ...target, change: { display_name: 'New' } })).toMatchObject({
      display_name: 'New',
    })
    expect(await alive(cookie)).toBe(true)
    await updateUser(ctx, { ...target, change: { display_name: 'New', role: 'analyst' } })
    expect(await auditOf(user.id)).toHaveLength(1)
    await updateUser(ctx, { ...target, change: { role: 'mssp_manager' } })
    expect([await alive(cookie), await alive(other.cookie)]).toEqual([false, true])
    expect((await auditOf(user.id))[1]).toMatchObject({
      action: 'user.update',
      before: { role: 'analyst' },
      after: { role: 'mssp_manager' },
    })
  })

  test('of activity may be repeated, ends sessions, and closes the door', async () => {
    const user = await analyst()
    const { cookie } = await signIn(user.email)
    const target = { ...by(staff), id: user.id }
    for (let round = 0; round < 2; round += 1)
      expect(await deactivateUser(ctx, target)).toMatchObject({ active: false })
    expect(await alive(cookie)).toBe(false)
    expect(await codeOf(signIn(user.email))).toBe('invalid_credentials')
    for (let round = 0; round < 2; round += 1)
      expect(await reactivateUser(ctx, target)).toMatchObject({ active: true })
    expect(await alive(cookie)).toBe(false)
    expect(await codeOf(signIn(user.email))).toBe('ok')
    const actions = (await auditOf(user.id)).map(({ action }) => action)
    expect(actions).toEqual(['user.deactivate', 'user.reactivate'])
  })

  test('of oneself is refused, but for the name', async () => {
    const own = { ...by(staff), id: staff.userId }
    expect(await codeOf(updateUser(ctx, { ...own, change: { role: 'analyst' } }))).toBe('self_change')
    expect(await codeOf(deactivateUser(ctx, own))).toBe('self_change')
    expect(await codeOf(resetPassword(ctx, own))).toBe('self_change')
    expect(await codeOf(reactivateUser(ctx, own))).toBe('ok')
    expect(await codeOf(updateUser(ctx, { ...own, change: { display_name: 'Me' } }))).toBe('ok')
  })

  test('of a platform_admin needs one', async () => {
    const target = { ...by(staff), id: owner.userId }
    const { id: somebody } = await analyst()
    const doings = [
      () => updateUser(ctx, { ...target, change: { display_name: 'Eve' } }),
      () => deactivateUser(ctx, target),
      () => reactivateUser(ctx, target),
      () => resetPassword(ctx, target),
      () => updateUser(ctx, { ...target, id: somebody, change: { role: 'platform_admin' } }),
      () => createUser(ctx, { ...by(staff), user: { email: address(), role: 'platform_admin' } }),
    ]
    for (const doing of doings) expect(await codeOf(doing())).toBe('forbidden_target')
    expect(await auditOf(owner.userId)).toEqual([])
    const { id } = await analyst()
    expect(await updateUser(ctx, { ...by(owner), id, change: { role: 'platform_admin' } })).toMatchObject({
      role: 'platform_admin',
    })
    expect(await codeOf(deactivateUser(ctx, { ...by(owner), id }))).toBe('ok')
  })

  test('in the grace period of a decommission is refused', async () => {
    const leaving = await bench.tenant()
    const admin = principal(await bench.user({ tenantId: leaving.id }), 'tenant_admin', leaving.id)
    const { id } = await bench.user({ tenantId: leaving.id, role: 'customer_viewer' })
    await bench.superuser`update tenants set state = 'decommissioning' where id = ${leaving.id}`
    const target = { ...by(admin), id }
    const user = { email: address(), role: 'customer_viewer' } as const
    expect(await codeOf(createUser(ctx, { ...by(admin), user }))).toBe('state_conflict')
    expect(await codeOf(deactivateUser(ctx, target))).toBe('state_conflict')
    expect(await codeOf(resetPassword(ctx, target))).toBe('state_conflict')
    expect(await codeOf(getUser(ctx, { principal: admin, id }))).toBe('ok')
  })
})

describe('a password reset', () => {
  test('ends sessions and lockout; only the new password works, and has to be changed', async () => {
    const user = await bench.user({ tenantId: tenant.id, role: 'tenant_analyst' })
    const { cookie } = await signIn(user.email, PASSWORD, tenant.host)
    await bench.superuser`
      update password_credentials set window_started_at = now(), consecutive_failures = ${LOCKOUT.failures - 1}
       where user_id = ${user.id}`
    await codeOf(signIn(user.email, WRONG, tenant.host))
    expect(await codeOf(signIn(user.email, PASSWORD, tenant.host))).toBe('account_locked')
    const reset = await resetPassword(ctx, { ...by(customer), id: user.id })
    expect(reset).toMatchObject({ user_id: user.id, must_change: true })
    expect(await alive(cookie, tenant.host)).toBe(false)
    expect(await codeOf(signIn(user.email, PASSWORD, tenant.host))).toBe('invalid_credentials')
    const { response } = await signIn(user.email, reset.temporary_password ?? '', tenant.host)
    expect(response.must_change).toBe(true)
    const rows = await auditOf(user.id)
    expect(rows.at(-1)).toMatchObject({ action: 'auth.password.reset.admin', tenant_id: tenant.id })
    expect(JSON.stringify(rows)).not.toContain(reset.temporary_password)
  })

  test('gives a user without a password one', async () => {
    const user = await bench.user({ hash: null, role: 'analyst' })
    const reset = await resetPassword(ctx, { ...by(staff), id: user.id })
    expect(await codeOf(signIn(user.email, reset.temporary_password ?? ''))).toBe('ok')
  })
})

describe('the last administrator stays', () => {
  const remaining = async (tenantId: string | null, role: string) => {
    const [row] = await bench.superuser<{ n: number }[]>`
      select count(*)::int as n from users
       where tenant_id is not distinct from ${tenantId}::uuid and active and role = ${role}`
    return row?.n
  }
  test('of a tenant, however many remove each other at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id: tenantId } = await bench.tenant()
      const admins = await Promise.all([1, 2, 3].map(() => bench.user({ tenantId })))
      const codes = await Promise.all(
        admins.map((admin, index) => {
          const next = admins[(index + 1) % admins.length]?.id ?? ''
          const target = { ...by(principal(admin, 'tenant_admin', tenantId)), id: next }
          return codeOf(
            index % 2 === 0
              ? deactivateUser(ctx, target)
              : updateUser(ctx, { ...target, change: { role: 'tenant_manager' } }),
          )
        }),
      )
      expect(codes.toSorted()).toEqual(['last_admin', 'ok', 'ok'])
      expect(await remaining(tenantId, 'tenant_admin')).toBe(1)
    }
  })
  test('of the MSSP, and an inactive one does not count', async () => {
    await bench.superuser`update users set active = false where role = 'platform_admin'`
    const [one, two] = [
      await bench.user({ role: 'platform_admin' }),
      await bench.user({ role: 'platform_admin' }),
    ]
    const codes = await Promise.all([
      codeOf(deactivateUser(ctx, { ...by(principal(one, 'platform_admin')), id: two.id })),
      codeOf(deactivateUser(ctx, { ...by(principal(two, 'platform_admin')), id: one.id })),
    ])
    expect(codes.toSorted()).toEqual(['last_admin', 'ok'])
    expect(await remaining(null, 'platform_admin')).toBe(1)
  })
})
