import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Tenant, TENANTS } from '@service/crds'
import { materialSecretName, namespaceOf, noFailpoints } from '@service/domain'
import { createKubeClient, type KubeObject, NAMESPACES, SECRETS } from '@service/kube'
import { type OperatorHandle, parseOperatorConfig, startOperator } from '@service/operator'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase } from '../../src/db/database.ts'
import { withConnection } from '../../src/db/connection.ts'
import { collectOrphanSecrets, startOrphanSecretsJob } from '../../src/jobs/orphan-secrets.ts'
import { asSystem } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'
import { applyMarks } from '../../src/projector/marks-loop.ts'
import { startProjector } from '../../src/projector/projector.ts'
import { markAllTenants } from '../../src/projector/queue.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { ownCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { type Fixture, INSTALL, msspUser, PINS, startFixture, tenantInput } from '../support/fixture.ts'
import { holdings, standing, watched } from '../support/holdings.ts'
import { freePort, start, until } from '../support/process.ts'
import { serviceEnvironment } from '../support/service.ts'

/** Tenants that stand in the cluster, with namespaces and material, while the database shows none of them. */
const FLEET = Number(process.env['ABSENCE_FLEET'] ?? 20)
const WAIT_MS = 60_000 + FLEET * 2_000
/** A look costs more the more there is to see. */
const PATIENTLY = { timeoutMs: WAIT_MS, pauseMs: 50 + FLEET * 5 }

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
  let fleet: { id: string; slug: string }[]
  let operator: OperatorHandle
  /** What the operator, which works all the while, has deleted. */
  let operatorDeletions: () => number
  beforeAll(async () => {
    const startedAt = performance.now()
    fleet = []
    while (fleet.length < FLEET) fleet.push(...(await Promise.all(Array.from({ length: 10 }, create))))
    // Material that is older than what is wanted: the operator makes namespaces and waits there, before helm.
    report('rows and material', startedAt)
    await fixture.all`update tenants set secrets_revision = 2`
    await asSystem(fixture.db, 'test', markAllTenants)
    while (await applyMarks(options())) await sleep(0)
    report('resources', startedAt)
    const { cluster, deletions } = watched(fixture.cluster)
    operatorDeletions = deletions
    operator = await startOperator({
      kube: cluster,
      config: parseOperatorConfig({
        SERVICE_INSTALL_NAMESPACE: fixture.tenants.installNamespace,
        SERVICE_OPERATOR_LEASE_SECONDS: '3',
      }),
      log: pino({ level: 'silent' }),
      clock: () => new Date(),
      registry: new Registry(),
    })
    await until(
      () => 'namespaces of the fleet',
      async () => (await standing(fixture.cluster)).length >= FLEET,
      PATIENTLY,
    )
    // Without resource and namespace: only the database could still speak for them.
    for (let index = 0; index < Math.min(FLEET, 100); index += 1) await orphan()
    report(`${fleet.length} tenants with namespaces and finalizers`, startedAt)
  }, WAIT_MS)
  afterAll(() => operator?.stop())
  afterEach(() => expect(operatorDeletions()).toBe(0))

  const dead = (url: string): string => Object.assign(new URL(url), { port: '1' }).href
  const cases: [string, () => { appUrl: string; msspUrl: string }, 'orphans' | 'nothing'][] = [
    ['an empty database', () => ({ appUrl: empty.urls.app, msspUrl: empty.urls.mssp }), 'orphans'],
    [
      'a role that row-level security binds',
      () => ({ appUrl: fixture.urls.app, msspUrl: fixture.urls.app }),
      'nothing',
    ],
    [
      'a database that is away',
      () => ({ appUrl: dead(fixture.urls.app), msspUrl: dead(fixture.urls.mssp) }),
      'nothing',
    ],
  ]
  test.each(cases)(
    '%s: 0 deletions by job and projector',
    async (what, urls, told) => {
      const startedAt = performance.now()
      const before = await holdings(fixture.cluster)
      const db = createDatabase({ ...urls(), log: silent, max: 2 })
      const { cluster, deletions } = watched(fixture.cluster)
      const projector = startProjector(options({ db, cluster, pollMs: 50, resyncMs: 500 }))
      try {
        await expect(collectOrphanSecrets(options({ db, cluster }))).rejects.toThrow()
        await projector.hasSynced()
        const orphans = () => new Set(projector.orphans())
        if (told === 'orphans')
          await until(
            () => 'all orphans',
            async () => orphans().size === before.tenants.length,
            PATIENTLY,
          )
        else await sleep(1_500)
        expect(told === 'orphans' ? fleet.filter(({ slug }) => !orphans().has(slug)) : []).toEqual([])
      } finally {
        await projector.stop()
        await db.close()
      }
      expect(deletions()).toBe(0)
      expect(await holdings(fixture.cluster)).toEqual(before)
      report(`${what}: ${deletions()} deletions`, startedAt)
    },
    WAIT_MS,
  )

  test('the database of another install, however sound: 0 deletions', async () => {
    const { cluster, deletions } = watched(fixture.cluster)
    const foreign = collectOrphanSecrets(options({ cluster, installId: randomUUID() }))
    await expect(foreign).rejects.toThrow('does not know this install')
    expect(deletions()).toBe(0)
  })

  test(
    'an empty database that claims to be this install’s: whoever stands in the cluster keeps everything',
    async () => {
      const startedAt = performance.now()
      await makeInstall(empty)
      const before = await holdings(fixture.cluster)
      const deleted = await collectOrphanSecrets(options({ db: empty.db }))
      expect(deleted).toBeGreaterThanOrEqual(2 * Math.min(FLEET, 100))
      expect(await holdings(fixture.cluster)).toEqual({ ...before, secrets: before.secrets - deleted })
      for (const { id } of fleet.slice(0, 20)) expect(await secretsOf(id)).toHaveLength(2)
      report(`an empty database of this install: ${deleted} Secrets of nobody collected`, startedAt)
    },
    WAIT_MS,
  )

  test(
    'an API that is started anew on that database: 0 deletions, every orphan named',
    async () => {
      const startedAt = performance.now()
      const before = await holdings(fixture.cluster)
      const [port, metricsPort] = await Promise.all([freePort(), freePort()])
      const { kubeconfigPath, tenants } = fixture
      const running = start(['serve'], {
        ...serviceEnvironment({ urls: empty.urls, kubeconfigPath, port, metricsPort }),
        SERVICE_INSTALL_NAMESPACE: tenants.installNamespace,
      })
      const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      try {
        await until(
          running.output,
          async () => (await scrape()).includes(`service_orphan_tenants ${before.tenants.length}\n`),
          PATIENTLY,
        )
        const [metrics, log] = [await scrape(), running.output()]
        for (const { slug } of fleet) {
          expect(metrics).toContain(`service_orphan_tenant_info{slug="${slug}"} 1`)
          expect(log).toContain(`"tenant":"${slug}"`)
        }
      } finally {
        running.child.kill('SIGKILL')
        await running.exit
      }
      expect(await holdings(fixture.cluster)).toEqual(before)
      report(`an API started on an empty database: ${before.tenants.length} orphans named`, startedAt)
    },
    WAIT_MS,
  )

  test(
    'deleted resources cost nothing else, and come back',
    async () => {
      const startedAt = performance.now()
      const before = await holdings(fixture.cluster)
      const { cluster, deletions } = watched(fixture.cluster)
      const uids = async () => (await fixture.cluster.list(TENANTS)).items.map(({ metadata }) => metadata.uid)
      const old = new Set(await uids())
      const projector = startProjector(options({ cluster, pollMs: 50 }))
      try {
        await projector.hasSynced()
        for (const { slug } of fleet) await fixture.cluster.delete(TENANTS, { name: slug })
        const back = async () =>
          (await uids()).filter((uid) => !old.has(uid)).length === FLEET &&
          (await standing(fixture.cluster)).length >= FLEET
        await until(() => 'the resources', back, PATIENTLY)
      } finally {
        await projector.stop()
      }
      expect(deletions()).toBe(0)
      expect(await holdings(fixture.cluster)).toEqual(before)
      report(`${FLEET} resources deleted and made again`, startedAt)
    },
    WAIT_MS,
  )
})

function report(what: string, startedAt: number): void {
  console.info(`${what} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`)
}
