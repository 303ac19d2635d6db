import { randomBytes } from 'node:crypto'
import { materialKey, materialSecretName, SERVICE_TOKEN } from '@service/domain'
import { KubeError, type KubeClient, type KubeObject, SECRETS } from '@service/kube'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { refreshAge, refreshTokens } from '../../src/jobs/refresh-tokens.ts'
import { silent } from '../../src/log.ts'
import { createServiceTokens } from '../../src/tokens/tokens.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> }
const DAY = 86_400_000
const TOKENS = ['adapter-token', 'runs-worker-token'].map((name) => materialKey(name, 'token'))

let fixture: Fixture
let now = new Date()
const clock = () => now
const tokens = createServiceTokens({ adapter: [randomBytes(32)], worker: [randomBytes(32)] }, clock)
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())
beforeEach(async () => {
  await fixture.all`update tenants set deleted_at = now()`
  now = new Date()
})

const newTenant = async (input: Record<string, unknown> = {}): Promise<string> =>
  (
    await createTenant(
      { ...fixture.tenants, tokens, clock },
      { principal: msspUser(), requestId: 'r', tenant: tenantInput(input) },
    )
  ).id
const pass = (days: number): void => void (now = new Date(now.getTime() + days * DAY))
const refresh = (cluster: KubeClient = fixture.cluster) =>
  refreshTokens({
    db: fixture.db,
    cluster,
    tokens,
    clock,
    log: silent,
    installNamespace: fixture.tenants.installNamespace,
    wake: () => undefined,
  })
const place = (id: string) => ({ name: materialSecretName(id), namespace: fixture.tenants.installNamespace })
async function materialOf(id: string): Promise<Secret> {
  const secret = await fixture.cluster.get<Secret>(SECRETS, place(id))
  if (secret === null) throw new Error('no material')
  return secret
}
async function rowOf(id: string) {
  const [row] = await fixture.all<
    { secrets: number; revision: number; refreshed: number; audited: number }[]
  >`
    select secrets_revision as secrets, spec_revision::int as revision,
           (select count(*)::int from tenant_lifecycle_events
            where tenant_id = tenants.id and kind = 'token.refreshed') as refreshed,
           (select count(*)::int from audit_log
            where tenant_id = tenants.id and action = 'tenant.tokens_refreshed') as audited
    from tenants where id = ${id}`
  return row
}
/** A cluster whose `patch` behaves otherwise. */
const withPatch = (patch: KubeClient['patch']): KubeClient => ({ ...fixture.cluster, patch })
const REFUSED = new KubeError('the answer was lost', 503, 'ServiceUnavailable')

test('a week on, both tokens are new and work, and everything else is as it was', async () => {
  const id = await newTenant({ llm: { api_key: 'sk-own' } })
  const before = await materialOf(id)
  pass(5.9)
  expect(await refresh()).toBe(0)
  expect(await materialOf(id)).toEqual(before)
  await fixture.all`delete from reconcile_queue where tenant_id = ${id}`
  pass(1.1)
  expect(await refresh()).toBe(1)
  const after = await materialOf(id)
  for (const [key, value] of Object.entries(before.data))
    expect(after.data[key] === value, key).toBe(!TOKENS.includes(key))
  const text = (key: string) => Buffer.from(after.data[key] ?? '', 'base64').toString()
  pass(7.9)
  expect(await tokens.verify('adapter', text(TOKENS[0] ?? ''))).toMatchObject({ tenantId: id })
  expect(await tokens.verify('worker', text(TOKENS[1] ?? ''))).toMatchObject({ tenantId: id })
  pass(-7.9)
  expect(after.metadata.annotations).toMatchObject({ 'service.dev/secrets-revision': '2' })
  expect(await rowOf(id)).toEqual({ secrets: 2, revision: 2, refreshed: 1, audited: 1 })
  const labels = await fixture.all<{ name: string; label: string }[]>`
    select name, version_label as label from tenant_secrets where tenant_id = ${id}`
  expect(
    labels
      .filter(({ label }) => label === '2')
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['adapter-token', 'runs-worker-token', materialSecretName(id)].toSorted())
  expect(await fixture.all`select from reconcile_queue where tenant_id = ${id}`).toHaveLength(1)
  expect(await refresh()).toBe(0)
})

test('tenants that are suspended or in their grace period are renewed, deleted ones are not', async () => {
  const [suspended, leaving, gone] = [await newTenant(), await newTenant(), await newTenant()]
  await fixture.all`update tenants set state = 'suspended', suspended_from = 'active' where id = ${suspended}`
  await fixture.all`
    update tenants set state = 'decommissioning', decommissioned_from = 'active' where id = ${leaving}`
  await fixture.all`update tenants set deleted_at = now() where id = ${gone}`
  pass(7)
  expect(await refresh()).toBe(2)
  expect(await rowOf(gone)).toMatchObject({ secrets: 1, refreshed: 0 })
})

test('a token of another version than the row’s is renewed at once', async () => {
  const id = await newTenant()
  await fixture.all`update tenants set token_version = 2 where id = ${id}`
  expect(await refresh()).toBe(1)
  const token = (await materialOf(id)).data[TOKENS[0] ?? ''] ?? ''
  expect(await tokens.verify('adapter', Buffer.from(token, 'base64').toString())).toEqual({
    tenantId: id,
    tokenVersion: 2,
  })
})

test('a write that fails changes nothing, and holds up no other tenant', async () => {
  const [one, two] = [await newTenant(), await newTenant()]
  pass(7)
  const before = await materialOf(one)
  const refusing = withPatch((type, key, patch, options) =>
    key.name === materialSecretName(one)
      ? Promise.reject(REFUSED)
      : fixture.cluster.patch(type, key, patch, options),
  )
  expect(await refresh(refusing)).toBe(1)
  expect(await materialOf(one)).toEqual(before)
  expect([await rowOf(one), await rowOf(two)]).toMatchObject([{ secrets: 1 }, { secrets: 2 }])
  expect(await refresh()).toBe(1)
  expect(await rowOf(one)).toMatchObject({ secrets: 2, refreshed: 1 })
})

test('who dies between the Secret and the row is followed by one who tells of it, once', async () => {
  const id = await newTenant()
  pass(7)
  const dying = withPatch(async (type, key, patch, options) => {
    await fixture.cluster.patch(type, key, patch, options)
    throw REFUSED
  })
  expect(await refresh(dying)).toBe(0)
  expect(await rowOf(id)).toMatchObject({ secrets: 1, refreshed: 0 })
  const written = await materialOf(id)
  expect(await refresh()).toBe(1)
  expect(await materialOf(id)).toEqual(written)
  expect(await rowOf(id)).toEqual({ secrets: 2, revision: 2, refreshed: 1, audited: 1 })
  expect(await refresh()).toBe(0)
})

test('of many replicas at once each tenant is renewed by one', async () => {
  const ids = [await newTenant(), await newTenant(), await newTenant()]
  pass(7)
  await Promise.all([refresh(), refresh(), refresh(), refresh()])
  for (const id of ids) expect(await rowOf(id)).toEqual({ secrets: 2, revision: 2, refreshed: 1, audited: 1 })
})

test('tenants that were made together are spread over a day, within their week', () => {
  const at = Date.parse('2026-01-01T00:00:00Z')
  const ages = Array.from({ length: 1_000 }, (_, index) => refreshAge(`tenant-${index}`, at))
  expect(Math.min(...ages)).toBeGreaterThanOrEqual(SERVICE_TOKEN.refreshMs - DAY)
  expect(Math.max(...ages)).toBeLessThanOrEqual(SERVICE_TOKEN.refreshMs)
  const hours = Map.groupBy(ages, (age) => Math.floor(age / 3_600_000))
  expect(Math.max(...[...hours.values()].map((each) => each.length))).toBeLessThan(100)
})
