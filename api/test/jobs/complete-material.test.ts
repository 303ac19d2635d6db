import { materialSecretName } from '@service/domain'
import { type KubeObject, SECRETS } from '@service/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completeMaterial } from '../../src/jobs/complete-material.ts'
import { silent } from '../../src/log.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> }

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())

const run = () => {
  const { db, clock, installNamespace } = fixture.tenants
  return completeMaterial({
    db,
    clock,
    installNamespace,
    cluster: fixture.cluster,
    log: silent,
    wake: () => {},
  })
}
const keyOf = (id: string) => ({ name: materialSecretName(id), namespace: fixture.tenants.installNamespace })
const read = async (id: string): Promise<Secret> => {
  const secret = await fixture.cluster.get<Secret>(SECRETS, keyOf(id))
  if (secret === null) throw new Error('no material')
  return secret
}

test('a tenant of an older version gets what it lacks once, and keeps the rest', async () => {
  const created = await createTenant(fixture.tenants, {
    principal: msspUser(),
    requestId: 'r',
    tenant: tenantInput({}),
  })
  const { id } = created
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
