import { setTimeout as sleep } from 'node:timers/promises'
import { type JournalEntry, type Tenant, TENANTS, type TenantStatus } from '@service/crds'
import { noFailpoints, type TenantState } from '@service/domain'
import { createKubeClient } from '@service/kube'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { asSystem } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'
import { applyMarks } from '../../src/projector/marks-loop.ts'
import { type Projector, startProjector } from '../../src/projector/projector.ts'
import { claimMarks, completeMark, markTenant, postponeMark } from '../../src/projector/queue.ts'
import { projectTenant } from '../../src/projector/status-watch.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { ownCluster } from '../support/cluster.ts'
import { rowCounts } from '../support/database.ts'
import {
  type Fixture,
  freshSlug,
  INSTALL,
  msspUser,
  PINS,
  startFixture,
  tenantInput,
} from '../support/fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture(ownCluster)
})
afterAll(() => fixture?.stop())

const options = (change: object = {}) => ({
  db: fixture.db,
  cluster: fixture.cluster,
  clock: () => new Date(),
  log: silent,
  hit: noFailpoints,
  install: INSTALL,
  pins: PINS,
  pollMs: 200,
  ...change,
})
const create = (input: Record<string, unknown> = {}) =>
  createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant: tenantInput(input) })
const resource = (name: string) => fixture.cluster.get<Tenant>(TENANTS, { name })
const marks = async () => {
  const rows = await fixture.all<{ id: string }[]>`select tenant_id as id from reconcile_queue`
  return rows.map(({ id }) => id)
}

async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  const deadline = performance.now() + 10_000
  for (;;) {
    const found = await look()
    if (found !== null && found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`not within ten seconds: ${what}`)
    await sleep(20)
  }
}

const changed = (seq: number, from: TenantState, to: TenantState): JournalEntry => ({
  seq,
  kind: 'state.changed',
  from,
  to,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString(),
})
const INSTALLED = changed(1, 'pending', 'provisioning')
const READY = changed(2, 'provisioning', 'active')
const report = (name: string, status: TenantStatus) =>
  fixture.cluster.patch<Tenant>(TENANTS, { name }, { status }, { subresource: 'status' })
const stateOf = async (id: string) => {
  const [row] = await fixture.all<{ state: TenantState }[]>`select state from tenants where id = ${id}`
  return row?.state
}
const transitions = (id: string) =>
  fixture.all`select from_state, to_state, actor_id, at from tenant_lifecycle_events
              where tenant_id = ${id} and kind = 'state.changed' order by at, id`

describe('marks', () => {
  test('bring the resource that the rows want, once, and are gone', async () => {
    const tenant = await create({ llm: { api_key: 'sk-nowhere' } })
    expect(await marks()).toContain(tenant.id)
    while (await applyMarks(options())) await sleep(0)
    const made = await resource(tenant.slug)
    expect(made?.spec).toMatchObject({
      tenantId: tenant.id,
      revision: 1,
      secretsRevision: 1,
      desired: 'Run',
      profile: 'pilot',
      displayName: 'Acme Corporation',
      config: { ...INSTALL, llm: { baseUrl: 'https://llm.example.com/v1' } },
    })
    expect(made?.metadata.labels).toMatchObject({ 'managed-by': 'service', 'tenant-id': tenant.id })
    expect(JSON.stringify(made)).not.toContain('sk-nowhere')
    expect(await marks()).not.toContain(tenant.id)

    await asSystem(fixture.db, 'test', (tx) => markTenant(tx, tenant.id))
    while (await applyMarks(options())) await sleep(0)
    const again = await resource(tenant.slug)
    expect(again?.metadata.resourceVersion).toBe(made?.metadata.resourceVersion)
  })

  test('set while one is being worked on survive it, and claimers share them out', async () => {
    const tenants = await Promise.all([create(), create(), create()])
    const claims = await Promise.all(
      [1, 2, 3].map(() => asSystem(fixture.db, 'test', (tx) => claimMarks(tx, 10))),
    )
    const claimed = claims.flat()
    expect(new Set(claimed.map(({ tenantId }) => tenantId)).size).toBe(claimed.length)
    const mark = claimed.find(({ tenantId }) => tenantId === tenants[0].id)
    if (mark === undefined) throw new Error('no mark was claimed')
    await asSystem(fixture.db, 'test', async (tx) => {
      await markTenant(tx, mark.tenantId)
      await completeMark(tx, mark)
    })
    expect(await marks()).toContain(mark.tenantId)
    await asSystem(fixture.db, 'test', async (tx) => {
      await postponeMark(tx, mark, 60_000, 'late')
      const [fresh] = await claimMarks(tx, 1)
      expect(fresh?.tenantId).toBe(mark.tenantId)
      if (fresh !== undefined) await completeMark(tx, fresh)
    })
    expect(await marks()).not.toContain(mark.tenantId)
  })

  test('of an API server that does not answer are kept, with the failure and more and more patience', async () => {
    const tenant = await create()
    const cluster = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'test' })
    await applyMarks(options({ cluster }))
    const [row] = await fixture.all`
      select attempts, last_error, not_before > now() as later from reconcile_queue where tenant_id = ${tenant.id}`
    expect(row).toMatchObject({ attempts: 1, later: true })
    expect(row?.last_error).toContain('/nowhere/kubeconfig')
  })

  test('never lower the revision of a resource', async () => {
    const tenant = await create()
    await fixture.all`update tenants set spec_revision = 7 where id = ${tenant.id}`
    while (await applyMarks(options())) await sleep(0)
    await fixture.all`update tenants set spec_revision = 3 where id = ${tenant.id}`
    await asSystem(fixture.db, 'test', (tx) => markTenant(tx, tenant.id))
    await applyMarks(options())
    expect((await resource(tenant.slug))?.spec.revision).toBe(7)
    const [row] = await fixture.all`select last_error from reconcile_queue where tenant_id = ${tenant.id}`
    expect(row?.last_error).toBeTruthy()
  })
})

describe('a running projector', () => {
  let projector: Projector
  const warned: object[] = []
  const log = { ...silent, warn: (fields: object) => void warned.push(fields) }
  beforeEach(() => void (projector = startProjector(options({ log }))))
  afterEach(() => projector.stop())

  async function applied() {
    const tenant = await create()
    projector.wake()
    await until('the resource', () => resource(tenant.slug))
    return tenant
  }

  test('carries the journal into lifecycle rows, the row’s state and the audit log', async () => {
    const { id, slug } = await applied()
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'Progressing',
      message: 'The release is being installed.',
      lastTransitionTime: '2026-01-01T00:00:01Z',
      observedGeneration: 1,
    } as const
    await report(slug, {
      phase: 'provisioning',
      observedRevision: 1,
      journal: [INSTALLED],
      conditions: [condition],
      steps: [{ step: 'namespace', status: 'done' }],
    })
    await until('provisioning', async () => (await stateOf(id)) === 'provisioning')
    await report(slug, { phase: 'active', journal: [INSTALLED, READY] })
    await until('active', async () => (await stateOf(id)) === 'active')
    expect(await transitions(id)).toMatchObject([
      {
        from_state: 'pending',
        to_state: 'provisioning',
        actor_id: 'system:operator',
        at: new Date(INSTALLED.at),
      },
      { from_state: 'provisioning', to_state: 'active', actor_id: 'system:operator', at: new Date(READY.at) },
    ])
    const audit = await fixture.all`
      select action, actor_principal, actor_id, before, after from audit_log
      where tenant_id = ${id} and action = 'tenant.state_changed' order by id`
    expect(audit).toMatchObject([
      {
        actor_principal: 'System',
        actor_id: 'system:projector',
        before: { state: 'pending' },
        after: { state: 'provisioning' },
      },
      { before: { state: 'provisioning' }, after: { state: 'active' } },
    ])
    const [status] = await fixture.all`select * from tenant_statuses where tenant_id = ${id}`
    expect(status).toMatchObject({ observed_revision: 1, conditions: [condition] })
  })

  test('makes a deleted resource again, which then begins a journal of its own', async () => {
    const { id, slug } = await applied()
    await report(slug, { phase: 'active', observedRevision: 1, journal: [INSTALLED, READY] })
    await until('active', async () => (await stateOf(id)) === 'active')
    const first = await resource(slug)
    await fixture.cluster.delete(TENANTS, { name: slug })
    const second = await until('another resource', async () => {
      const found = await resource(slug)
      return found !== null && found.metadata.uid !== first?.metadata.uid && found
    })
    await report(slug, { phase: 'provisioning', observedRevision: 1, journal: [INSTALLED] })
    await until('the new journal', async () => (await transitions(id)).length === 3)
    expect(await stateOf(id)).toBe('active')
    const [status] = await fixture.all`select cr_uid from tenant_statuses where tenant_id = ${id}`
    expect(status?.cr_uid).toBe(second.metadata.uid)
  })

  test('reports a resource without a row and leaves it and every row alone', async () => {
    const tenant = await applied()
    const own = await resource(tenant.slug)
    const name = freshSlug('orphan')
    const before = projector.orphans().length
    if (own === null) throw new Error('no resource')
    // It claims the id of a tenant that has another name: that tenant must not move.
    await fixture.cluster.create(TENANTS, { ...own, metadata: { name } })
    await report(name, { phase: 'active', observedRevision: 1, journal: [INSTALLED, READY] })
    await until('the report', async () => projector.orphans().length === before + 1)
    expect(warned).toContainEqual({ tenant: name })
    expect(await stateOf(tenant.id)).toBe('pending')
    expect(await resource(name)).not.toBeNull()
    await fixture.cluster.delete(TENANTS, { name })
    await until('the end of the report', async () => projector.orphans().length === before)
  })
})

test('what happened while nobody watched is there in order when somebody does', async () => {
  const tenant = await create()
  while (await applyMarks(options())) await sleep(0)
  await report(tenant.slug, { phase: 'provisioning', observedRevision: 1, journal: [INSTALLED] })
  await report(tenant.slug, { phase: 'active', journal: [INSTALLED, READY] })
  const projector = startProjector(options())
  try {
    await until('active', async () => (await stateOf(tenant.id)) === 'active')
  } finally {
    await projector.stop()
  }
  expect(await transitions(tenant.id)).toHaveLength(2)
})

test('many replicas at once write each entry once, and a repeat writes nothing at all', async () => {
  const tenant = await create()
  while (await applyMarks(options())) await sleep(0)
  const seen = await report(tenant.slug, {
    phase: 'active',
    observedRevision: 1,
    journal: [INSTALLED, READY],
  })
  await Promise.all(Array.from({ length: 8 }, () => projectTenant(options(), seen)))
  expect(await transitions(tenant.id)).toHaveLength(2)
  const [before, touched] = [await rowCounts(fixture.all), await versionsOf(tenant.id)]
  await projectTenant(options(), seen)
  expect(await rowCounts(fixture.all)).toEqual(before)
  expect(await versionsOf(tenant.id)).toEqual(touched)
})

/** Row versions, with their locks: PostgreSQL changes them whenever a row is written or locked. */
const versionsOf = (id: string) =>
  fixture.all`select t.xmin::text, t.xmax::text, s.xmin::text as s, i.xmin::text as i
              from tenants t join tenant_statuses s on s.tenant_id = t.id
              join tenant_installations i on i.tenant_id = t.id where t.id = ${id}`

test('a failure in the middle leaves nothing of the projection', async () => {
  const tenant = await create()
  while (await applyMarks(options())) await sleep(0)
  const seen = await report(tenant.slug, {
    phase: 'active',
    observedRevision: 1,
    journal: [INSTALLED, READY],
  })
  const before = await rowCounts(fixture.all)
  let ticks = 0
  const clock = () => {
    ticks += 1
    if (ticks > 4) throw new Error('the process ends here')
    return new Date()
  }
  await expect(projectTenant(options({ clock }), seen)).rejects.toThrow('the process ends here')
  expect(await rowCounts(fixture.all)).toEqual(before)
  expect(await stateOf(tenant.id)).toBe('pending')
  await projectTenant(options(), seen)
  expect(await stateOf(tenant.id)).toBe('active')
})
