import { materialSecretName } from '@service/domain'
import { type KubeClient, KubeError, type KubeObject, SECRETS } from '@service/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completeMaterial } from '../../src/jobs/complete-material.ts'
import { refreshTokens } from '../../src/jobs/refresh-tokens.ts'
import { silent } from '../../src/log.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> }

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())

const options = (cluster: KubeClient = fixture.cluster) => {
  const { db, clock, installNamespace } = fixture.tenants
  return { db, clock, installNamespace, cluster, log: silent, wake: () => {} }
}
const run = () => completeMaterial(options())
const keyOf = (id: string) => ({ name: materialSecretName(id), namespace: fixture.tenants.installNamespace })
const read = async (id: string): Promise<Secret> => {
  const secret = await fixture.cluster.get<Secret>(SECRETS, keyOf(id))
  if (secret === null) throw new Error('no material')
  return secret
}

const newTenant = async (): Promise<string> =>
  (await createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant: tenantInput({}) })).id
const toldOf = (id: string) => fixture.all<{ action: string; actor_id: string; keys: string[] | null }[]>`
  select action, actor_id, details -> 'keys' as keys from audit_log
  where tenant_id = ${id} and action <> 'tenant.create' order by timestamp, id`

test('a tenant of an older version gets what it lacks once, and keeps the rest', async () => {
  const id = await newTenant()
  const full = await read(id)
  expect(await run()).toBe(0)

  const old = Object.fromEntries(
    Object.entries(full.data).filter(
      ([key]) => /token|llm|authd|credentials/.test(key) && !key.startsWith('adapter-indexer'),
    ),
  )
  await fixture.cluster.replace<Secret>(SECRETS, { ...full, data: old })
  const [before] = await fixture.all`select spec_revision from tenants where id = ${id}`

  const changed = await Promise.all([run(), run()])
  expect(changed.toSorted()).toEqual([0, 1])
  const { data, metadata } = await read(id)
  expect(data).toMatchObject(old)
  expect(Object.keys(data).toSorted()).toEqual(Object.keys(full.data).toSorted())
  expect(metadata.annotations).toMatchObject({ 'service.dev/secrets-revision': '2' })
  const [row] = await fixture.all`select secrets_revision, spec_revision from tenants where id = ${id}`
  expect(row).toMatchObject({ secrets_revision: 2 })
  expect(Number(row?.['spec_revision'])).toBe(Number(before?.['spec_revision']) + 1)
  const [event] = await fixture.all`
    select details from tenant_lifecycle_events where tenant_id = ${id} and kind = 'key.rotated'`
  expect(JSON.stringify(event)).toContain('wazuh-indexer-tls.tls.crt')
  expect(JSON.stringify(event)).not.toContain('BEGIN')
  expect(await run()).toBe(0)
})

test('who dies between the Secret and the row is told of as what it was, whoever finds it', async () => {
  const id = await newTenant()
  const full = await read(id)
  const lost = 'wazuh-authd-secret.password'
  const { [lost]: _, ...rest } = full.data
  await fixture.cluster.replace<Secret>(SECRETS, { ...full, data: rest })
  const dying: KubeClient = {
    ...fixture.cluster,
    patch: async (type, key, patch, call) => {
      await fixture.cluster.patch(type, key, patch, call)
      throw new KubeError('the answer was lost', 503, 'ServiceUnavailable')
    },
  }
  expect(await completeMaterial(options(dying))).toBe(0)
  expect(await toldOf(id)).toEqual([])

  const refresh = () => refreshTokens({ ...options(), tokens: fixture.tokens })
  expect(await Promise.all([refresh(), run()])).toContain(1)
  expect(await toldOf(id)).toEqual([
    { action: 'tenant.secrets.completed', actor_id: 'system:complete-material', keys: [lost] },
  ])
  expect([await refresh(), await run()]).toEqual([0, 0])
})

test('a revision that none of us wrote is told of as somebody’s with kubectl', async () => {
  const id = await newTenant()
  const annotations = { 'service.dev/secrets-revision': '7' }
  await fixture.cluster.patch(SECRETS, keyOf(id), { metadata: { annotations } })
  expect(await run()).toBe(1)
  expect(await toldOf(id)).toEqual([
    { action: 'tenant.secrets.changed', actor_id: 'system:kubectl', keys: [] },
  ])
  const [row] = await fixture.all`select secrets_revision from tenants where id = ${id}`
  expect(row).toMatchObject({ secrets_revision: 7 })
})
