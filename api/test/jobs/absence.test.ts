import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Tenant, TENANTS } from '@service/crds'
import { materialSecretName, namespaceOf, noFailpoints } from '@service/domain'
import { createKubeClient, type KubeClient, type KubeObject, NAMESPACES, SECRETS } from '@service/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase } from '../../src/db/database.ts'
import { withConnection } from '../../src/db/connection.ts'
import { collectOrphanSecrets, startOrphanSecretsJob } from '../../src/jobs/orphan-secrets.ts'
import { silent } from '../../src/log.ts'
import { applyMarks } from '../../src/projector/marks-loop.ts'
import { startProjector } from '../../src/projector/projector.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { ownCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { type Fixture, INSTALL, msspUser, PINS, startFixture, tenantInput } from '../support/fixture.ts'

/** Tenants that stand in the cluster, with namespaces and material, while the database shows none of them. */
const FLEET = 20

let fixture: Fixture
/** Migrated, but nobody's: as after a restore that went wrong. */
let empty: TestDatabase
beforeAll(async () => {
  ;[fixture, empty] = await Promise.all([startFixture(ownCluster), testDatabase()])
  await makeInstall(fixture)
})
afterAll(async () => {
  await empty?.stop()
  await fixture?.stop()
})

const makeInstall = ({ urls }: TestDatabase, installId: string = INSTALL.installId) =>
  withConnection(
    urls.admin,
    'test',
    (sql) => sql`
      insert into organization (install_id, mssp_id, mssp_name, install_label)
      values (${installId}, ${INSTALL.msspId}, 'MSSP', 'test')`,
  )
const later = () => new Date(Date.now() + 2 * 3_600_000)
const options = (change: object = {}) => ({
  db: fixture.db,
  cluster: fixture.cluster,
  clock: later,
  log: silent,
  hit: noFailpoints,
  install: INSTALL,
  pins: PINS,
  installId: INSTALL.installId,
  installNamespace: fixture.tenants.installNamespace,
  ...change,
})
const create = () =>
  createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant: tenantInput() })
/** What a creation leaves that dies between its Secrets and its row. */
async function orphan(): Promise<string> {
  const id = randomUUID()
  await fixture.tenants.material.create(id, 1, { 'tenant-llm-key.api_key': 'k' })
  return id
}
const secretsOf = async (id: string): Promise<string[]> => {
  const { items } = await fixture.cluster.list<KubeObject>(SECRETS, {
    namespace: fixture.tenants.installNamespace,
    labelSelector: `tenant-id=${id}`,
  })
  return items.map(({ metadata }) => metadata.name).toSorted()
}

describe('material without a row', () => {
  test('is collected after an hour, and nothing else is', async () => {
    const [kept, left] = [await create(), await orphan()]
    const namespace = fixture.tenants.installNamespace
    const labels = { 'managed-by': 'service', 'service.dev/material': 'true', 'tenant-id': randomUUID() }
    const unlabelled = materialSecretName(randomUUID())
    await fixture.cluster.create(SECRETS, { metadata: { namespace, name: unlabelled } })
    await fixture.cluster.create(SECRETS, { metadata: { namespace, name: 'other-name', labels } })
    expect(await collectOrphanSecrets(options({ clock: () => new Date() }))).toBe(0)
    const almost = () => new Date(Date.now() + 3_500_000)
    expect(await collectOrphanSecrets(options({ clock: almost }))).toBe(0)

    const lines: object[] = []
    const log = { ...silent, info: (fields: object) => void lines.push(fields) }
    expect(await collectOrphanSecrets(options({ log }))).toBe(2)
    expect(lines).toEqual([{ deleted: 2, tenant_ids: [left] }])
    expect(await secretsOf(left)).toEqual([])
    expect(await secretsOf(kept.id)).toHaveLength(2)
    for (const name of [unlabelled, 'other-name'])
      expect(await fixture.cluster.get(SECRETS, { namespace, name })).not.toBeNull()
    expect(await collectOrphanSecrets(options({ log }))).toBe(0)
    expect(lines).toHaveLength(1)
  })

  test('of a deleted tenant stays until the row goes', async () => {
    const { id } = await create()
    await fixture.all`update tenants set deleted_at = now() where id = ${id}`
    expect(await collectOrphanSecrets(options())).toBe(0)
    expect(await secretsOf(id)).toHaveLength(2)
  })

  test('stays while a resource or a namespace names its tenant', async () => {
    const [byNamespace, byResource] = [await orphan(), await orphan()]
    const name = namespaceOf(`n${byNamespace.slice(0, 8)}`)
    await fixture.cluster.create(NAMESPACES, { metadata: { name, labels: { 'tenant-id': byNamespace } } })
    const known = await create()
    while (await applyMarks(options())) await sleep(0)
    const model = await fixture.cluster.get<Tenant>(TENANTS, { name: known.slug })
    if (model === null) throw new Error('no resource')
    const copy = { name: `r${byResource.slice(0, 8)}` }
    await fixture.cluster.create(TENANTS, {
      ...model,
      metadata: copy,
      spec: { ...model.spec, tenantId: byResource },
    })
    expect(await collectOrphanSecrets(options())).toBe(0)
    await fixture.cluster.delete(TENANTS, copy)
    expect(await collectOrphanSecrets(options())).toBe(2)
    expect(await secretsOf(byNamespace)).toHaveLength(2)
  })

  test('is collected by the job by itself; a failing run is logged and the next one comes', async () => {
    const left = await orphan()
    const warnings: string[] = []
    const log = { ...silent, warn: (_: object, message: string) => void warnings.push(message) }
    const cluster = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'test' })
    const failing = startOrphanSecretsJob(options({ cluster, log }), 20)
    for (let wait = 0; warnings.length < 2 && wait < 200; wait += 1) await sleep(50)
    await failing.stop()
    expect(warnings.length).toBeGreaterThan(1)
    const job = startOrphanSecretsJob(options(), 20)
    for (let wait = 0; (await secretsOf(left)).length > 0 && wait < 100; wait += 1) await sleep(50)
    await job.stop()
    expect(await secretsOf(left)).toEqual([])
  })
})

describe('nothing is deleted by absence', () => {
  /** Counts what is asked to be deleted, and asks for it. */
  function watched(): { readonly cluster: KubeClient; readonly deletions: () => number } {
    let count = 0
    const cluster: KubeClient = {
      ...fixture.cluster,
      delete: (...call) => {
        count += 1
        return fixture.cluster.delete(...call)
      },
    }
    return { cluster, deletions: () => count }
  }
  let fleet: { id: string; slug: string }[]
  beforeAll(async () => {
    fleet = []
    for (let index = 0; index < FLEET; index += 1) fleet.push(await create())
    while (await applyMarks(options())) await sleep(0)
    for (const { id, slug } of fleet)
      await fixture.cluster.create(NAMESPACES, {
        metadata: { name: namespaceOf(slug), labels: { 'tenant-id': id } },
      })
    // Without resource and namespace: only the database could still speak for them.
    for (let index = 0; index < FLEET; index += 1) await orphan()
  }, 60_000)

  const dead = (url: string): string => Object.assign(new URL(url), { port: '1' }).href
  const cases: [string, () => { appUrl: string; msspUrl: string }][] = [
    ['an empty database', () => ({ appUrl: empty.urls.app, msspUrl: empty.urls.mssp })],
    ['a role that row-level security binds', () => ({ appUrl: fixture.urls.app, msspUrl: fixture.urls.app })],
    ['a database that is away', () => ({ appUrl: dead(fixture.urls.app), msspUrl: dead(fixture.urls.mssp) })],
  ]
  test.each(cases)('%s: 0 deletions by job and projector', async (_, urls) => {
    const before = await count()
    const db = createDatabase({ ...urls(), log: silent, max: 2 })
    const { cluster, deletions } = watched()
    const projector = startProjector(options({ db, cluster, pollMs: 50, resyncMs: 500 }))
    try {
      await expect(collectOrphanSecrets(options({ db, cluster }))).rejects.toThrow()
      await projector.hasSynced()
      await sleep(1_500)
    } finally {
      await projector.stop()
      await db.close()
    }
    expect(deletions()).toBe(0)
    expect(await count()).toEqual(before)
  })

  test('the database of another install, however sound: 0 deletions', async () => {
    const { cluster, deletions } = watched()
    const foreign = collectOrphanSecrets(options({ cluster, installId: randomUUID() }))
    await expect(foreign).rejects.toThrow('does not know this install')
    expect(deletions()).toBe(0)
  })

  test('an empty database that claims to be this install’s: whoever stands in the cluster keeps everything', async () => {
    await makeInstall(empty)
    const before = await count()
    const deleted = await collectOrphanSecrets(options({ db: empty.db }))
    expect(deleted).toBeGreaterThanOrEqual(2 * FLEET)
    expect(await count()).toEqual({ ...before, secrets: (before.secrets ?? 0) - deleted })
    for (const { id } of fleet) expect(await secretsOf(id)).toHaveLength(2)
  })

  test('deleted resources cost nothing else, and come back', async () => {
    const before = await count()
    const { cluster, deletions } = watched()
    const projector = startProjector(options({ cluster, pollMs: 50 }))
    try {
      await projector.hasSynced()
      for (const { slug } of fleet) await fixture.cluster.delete(TENANTS, { name: slug })
      for (let wait = 0; (await count()).tenants < before.tenants && wait < 200; wait += 1) await sleep(50)
    } finally {
      await projector.stop()
    }
    expect(deletions()).toBe(0)
    expect(await count()).toEqual(before)
  })

  async function count() {
    const [namespaces, secrets, tenants] = await Promise.all(
      [NAMESPACES, SECRETS, TENANTS].map(async (type) => (await fixture.cluster.list(type)).items.length),
    )
    return { namespaces, secrets, tenants: tenants ?? 0 }
  }
})
