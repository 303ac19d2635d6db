import { randomUUID } from 'node:crypto'
import { SESSION } from '@service/domain'
import type { AssumeTenantRequest } from '@service/wire'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assumeTenant, describeIdentity, login, logout, resolveSession } from '../../src/verbs/auth/index.ts'
import type { AuthContext } from '../../src/verbs/auth/index.ts'
import { attempt, type Bench, codeOf, createBench, MSSP, PASSWORD } from './support.ts'

let bench: Bench
beforeAll(async () => {
  bench = await createBench('assume')
})
afterAll(() => bench.close())

const signIn = async (ctx: AuthContext, host = MSSP, email?: string) => {
  const { cookie } = await login(ctx, attempt(email ?? (await bench.user()).email, PASSWORD, host))
  const now = async () => {
    const signedIn = await resolveSession(ctx, { cookie, host })
    if (signedIn === null) throw new Error('not signed in')
    return signedIn
  }
  const enter = async (target: AssumeTenantRequest) =>
    assumeTenant(ctx, { ...(await now()), requestId: 'r-pin', target })
  return { cookie, now, enter, userId: (await now()).session.userId }
}
const rowsOf = (userId: string) =>
  bench.superuser<{ what: string }[]>`
    select concat_ws(' ', action, tenant_id, acting_as) as what from audit_log
     where actor_id = ${userId} and action like 'tenant.%' order by id`

test('a tenant is entered by slug or id for 30 minutes, entered again, and left', async () => {
  const ctx = bench.context()
  const [one, two] = [await bench.tenant(), await bench.tenant()]
  const staff = await signIn(ctx)
  const inside = await staff.enter({ slug: one.slug })
  expect(inside).toMatchObject({
    tenant_id: null,
    current_tenant: one.id,
    current_tenant_slug: one.slug,
    current_tenant_display_name: 'T',
  })
  const lasts = Date.parse(inside.current_tenant_expires_at ?? '') - ctx.clock().getTime()
  expect(lasts).toBeGreaterThan(SESSION.pinMs - 60_000)
  expect(lasts).toBeLessThanOrEqual(SESSION.pinMs)
  expect((await staff.now()).principal).toMatchObject({ currentTenant: one.id, tenantId: null })
  expect(await describeIdentity(ctx, (await staff.now()).session)).toEqual(inside)

  expect(await staff.enter({ tenant_id: two.id, slug: two.slug })).toMatchObject({ current_tenant: two.id })
  expect(await staff.enter({ tenant_id: null, slug: null })).toMatchObject({
    current_tenant: null,
    current_tenant_slug: null,
    current_tenant_expires_at: null,
  })
  expect((await staff.now()).principal).toMatchObject({ currentTenant: null })
  // Out already: nothing happens, and nothing is written.
  await staff.enter({})
  const rows = (await rowsOf(staff.userId)).map(({ what }) => what)
  expect(rows).toEqual([
    `tenant.assume ${one.id} ${one.id}`,
    `tenant.assume ${two.id} ${two.id}`,
    `tenant.leave ${two.id} ${two.id}`,
  ])
})

test('the stay ends by itself, whatever the activity, and with the tenant', async () => {
  const ctx = bench.context()
  const tenant = await bench.tenant()
  const staff = await signIn(ctx)
  await staff.enter({ slug: tenant.slug })
  ctx.advance(SESSION.pinMs / 2)
  expect((await staff.now()).session.pinned).not.toBeNull()
  ctx.advance(SESSION.pinMs / 2)
  expect((await staff.now()).session.pinned).toBeNull()
  await staff.enter({ slug: tenant.slug })
  await bench.superuser`update tenants set deleted_at = now() where id = ${tenant.id}`
  expect((await staff.now()).session.pinned).toBeNull()
})

test('what cannot be entered leaves everything as it is', async () => {
  const ctx = bench.context()
  const [tenant, gone] = [await bench.tenant(), await bench.tenant()]
  await bench.superuser`update tenants set deleted_at = now() where id = ${gone.id}`
  const staff = await signIn(ctx)
  expect(await codeOf(staff.enter({ slug: 'nobody' }))).toBe('not_found')
  expect(await codeOf(staff.enter({ tenant_id: randomUUID() }))).toBe('not_found')
  expect(await codeOf(staff.enter({ tenant_id: gone.id }))).toBe('not_found')
  expect(await codeOf(staff.enter({ tenant_id: tenant.id, slug: gone.slug }))).toBe('validation_failed')
  const customer = await bench.user({ tenantId: tenant.id })
  const theirs = await signIn(ctx, tenant.host, customer.email)
  expect(await codeOf(theirs.enter({ slug: tenant.slug }))).toBe('wrong_audience')

  const ended = await staff.now()
  await logout(ctx, { cookie: staff.cookie, requestId: null })
  const late = assumeTenant(ctx, { ...ended, requestId: null, target: { slug: tenant.slug } })
  expect(await codeOf(late)).toBe('unauthenticated')
  expect(await rowsOf(staff.userId)).toEqual([])
})
