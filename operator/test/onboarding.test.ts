import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { ANNOTATIONS, FINALIZER, NAMESPACE_LABELS, namespaceOf, TENANT_ROLE_BINDING } from '@service/domain'
import { createKubeClient, DEPLOYMENTS, EVENTS, NAMESPACES, ROLE_BINDINGS, SECRETS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installAccounts } from '../../dev/src/system/accounts.ts'
import type { RoleBinding } from '../src/steps/access.ts'
import {
  eventually,
  readTenant,
  renewHeartbeat,
  setPodsReady,
  startTestBed,
  writeMaterial,
} from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { conditionOf, ONBOARDED, story, tenantSpec } from './tenant.ts'

describe('a tenant', () => {
  let bed: TestBed
  let operator: Awaited<ReturnType<TestBed['startOperator']>>
  const tenant = (slug: string) => readTenant(bed.kube, slug)
  const phaseIs = (slug: string, phase: string) =>
    eventually(
      () => `${slug} is ${phase}: ${JSON.stringify(last.status?.conditions)}`,
      async () => (last = await tenant(slug)).status?.phase === phase,
    )
  let last: Tenant
  const onboard = async (slug: string): Promise<Tenant> => {
    const wanted = tenantSpec(slug)
    await writeMaterial(bed.kube, wanted)
    await bed.kube.create(TENANTS, wanted)
    await phaseIs(slug, 'provisioning')
    await setPodsReady(bed.kube, slug, true)
    await renewHeartbeat(bed.kube, slug)
    await phaseIs(slug, 'active')
    return tenant(slug)
  }

  beforeAll(async () => {
    bed = await startTestBed()
    // With the rights that the chart grants, and no more.
    const { kubeconfigPath, directory, tools } = bed
    const place = { kubeconfig: kubeconfigPath, helm: tools.helm, directory }
    const accounts = await installAccounts({ ...place, separateOperator: true })
    const kube = createKubeClient({ kubeconfigPath: accounts.operator, userAgent: 'operator-test' })
    const env = { SERVICE_KUBECONFIG: accounts.operator, ...accounts.access }
    operator = await bed.startOperator(env, { kube })
  })
  afterAll(() => bed.end())

  it('goes from nothing to active, and tells how', async () => {
    const startedAt = performance.now()
    const wanted = tenantSpec('acme')
    await bed.kube.create(TENANTS, wanted)
    await eventually('the operator waits for the material', async () => {
      return conditionOf(await tenant('acme'), 'SecretsReady') === 'False MaterialMissing'
    })
    expect((await tenant('acme')).metadata.finalizers).toContain(FINALIZER)
    await writeMaterial(bed.kube, wanted)
    // The operator holds no watch on the install namespace: the API raises the revision when it has written.
    await bed.kube.patch(TENANTS, { name: 'acme' }, { spec: { revision: 2 } })
    await phaseIs('acme', 'provisioning')
    console.info(`created to provisioning: ${Math.round(performance.now() - startedAt)} ms`)

    const provisioning = await tenant('acme')
    expect(conditionOf(provisioning, 'ReleaseInstalled')).toBe('True Installed')
    expect(conditionOf(provisioning, 'WorkloadsReady')).toBe('False PodsNotReady')
    expect(conditionOf(provisioning, 'Reconciling')).toBe('True Waiting')
    expect(conditionOf(provisioning, 'Ready')).toBe('False PodsNotReady')
    expect(conditionOf(provisioning, 'Stalled')).toBeUndefined()
    expect(provisioning.status?.observedRevision).toBe(2)

    await setPodsReady(bed.kube, 'acme', true)
    await eventually('workloads are ready', async () => {
      return conditionOf(await tenant('acme'), 'WorkloadsReady') === 'True Available'
    })
    expect((await tenant('acme')).status?.phase).toBe('provisioning')
    await renewHeartbeat(bed.kube, 'acme')
    await phaseIs('acme', 'active')

    const active = await tenant('acme')
    expect(story(active)).toEqual(ONBOARDED)
    expect(active.status?.journal?.map((entry) => entry.seq)).toEqual(ONBOARDED.map((_, index) => index + 1))
    expect(active.status?.steps?.map(({ step, status }) => `${step} ${status}`)).toEqual([
      'namespace done',
      'secrets done',
      'release done',
      'workloads done',
      'heartbeat done',
    ])
    expect(conditionOf(active, 'Ready')).toBe('True Succeeded')
    expect(conditionOf(active, 'Reconciling')).toBeUndefined()
    expect(active.status?.release).toMatchObject({ name: 'service-tenant', revision: 1, status: 'deployed' })
    expect(active.status?.observedGeneration).toBe(active.metadata.generation)
  })

  it('has its namespace, its secrets and its events', async () => {
    const namespace = await bed.kube.get(NAMESPACES, { name: namespaceOf('acme') })
    const { tenantId } = (await tenant('acme')).spec
    expect(namespace?.metadata.labels).toMatchObject({
      [NAMESPACE_LABELS.tenant]: 'true',
      [NAMESPACE_LABELS.managedBy]: 'service',
      [NAMESPACE_LABELS.tenantId]: tenantId,
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
    const key = { namespace: namespaceOf('acme') }
    type Secret = KubeObject & { data?: Record<string, string> }
    const token = await bed.kube.get<Secret>(SECRETS, { ...key, name: 'adapter-token' })
    expect(Buffer.from(token?.data?.['token'] ?? '', 'base64').toString()).toBe('token-1')
    const llm = await bed.kube.get<Secret>(SECRETS, { ...key, name: 'tenant-llm-key' })
    expect(llm?.data).toEqual({ api_key: '' })
    type KubeEvent = KubeObject & { regarding?: { name?: string }; reason?: string; note?: string }
    const { items } = await bed.kube.list<KubeEvent>(EVENTS, { namespace: 'default' })
    const notes = items.filter((each) => each.regarding?.name === 'acme').map((each) => each.note)
    expect(new Set(notes)).toEqual(
      new Set([
        'The tenant is active (it was provisioning).',
        'The tenant is provisioning (it was pending).',
      ]),
    )
  })

  it('is entered by one binding, which is mended when it is looked at, and nobody can tell', async () => {
    const before = await tenant('acme')
    const key = { name: TENANT_ROLE_BINDING, namespace: namespaceOf('acme') }
    const binding = () => bed.kube.get<RoleBinding>(ROLE_BINDINGS, key)
    const made = await binding()
    const said = ({ roleRef, subjects }: RoleBinding) => ({ roleRef, subjects })
    const wanted = {
      roleRef: expect.objectContaining({ kind: 'ClusterRole', name: 'service-system-tenant' }),
      subjects: [{ kind: 'ServiceAccount', name: 'service-system-operator', namespace: 'service-system' }],
    }
    expect(said(made as RoleBinding)).toEqual(wanted)
    const { metadata: _, ...rest } = made as RoleBinding
    const gone = () => bed.kube.delete(ROLE_BINDINGS, key)
    const somebody = { kind: 'ServiceAccount', name: 'somebody', namespace: 'default' }
    const changes = [
      gone,
      () => bed.kube.patch(ROLE_BINDINGS, key, { subjects: [...(rest.subjects ?? []), somebody] }),
      async () => {
        await gone()
        const other = { ...rest, metadata: key, roleRef: { ...rest.roleRef, name: 'view' } }
        await bed.kube.create(ROLE_BINDINGS, other)
      },
    ]
    for (const [index, change] of changes.entries()) {
      await change()
      const annotations = { [ANNOTATIONS.requestedAt]: `again-${index}` }
      await bed.kube.patch(TENANTS, { name: 'acme' }, { metadata: { annotations } })
      await eventually('it is mended', async () => {
        const seen = await binding()
        return seen !== null && seen.roleRef.name === rest.roleRef.name && seen.subjects?.length === 1
      })
    }
    await sleep(500)
    expect((await tenant('acme')).status).toEqual(before.status)
    expect(await operatorMay('get', 'secrets', 'kube-system')).toBe(false)
    expect(await operatorMay('get', 'secrets', namespaceOf('acme'))).toBe(true)
  })

  const operatorMay = async (verb: string, resource: string, namespace: string): Promise<boolean> => {
    const account = 'system:serviceaccount:service-system:service-system-operator'
    const ask = ['auth', 'can-i', verb, resource, '--namespace', namespace, `--as=${account}`]
    const { stdout } = spawnSync(bed.tools.kubectl, ['--kubeconfig', bed.kubeconfigPath, ...ask], {
      encoding: 'utf8',
    })
    return stdout.trim() === 'yes'
  }

  it('that has settled is left alone: no write, however often it is looked at', async () => {
    const settled = await onboard('quiet')
    const versions = async () => {
      const key = { namespace: namespaceOf('quiet') }
      const all = await Promise.all([
        bed.kube.list(SECRETS, key),
        bed.kube.list(DEPLOYMENTS, key),
        bed.kube.list(TENANTS, { fieldSelector: 'metadata.name=quiet' }),
        bed.kube.list(NAMESPACES, { fieldSelector: `metadata.name=${namespaceOf('quiet')}` }),
      ])
      return all.flatMap(({ items }) =>
        items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
      )
    }
    const before = await versions()
    // A new leader looks at everything anew.
    await operator.stop()
    const registry = new Registry()
    operator = await bed.startOperator({}, { registry })
    await eventually('the new leader has looked', async () => {
      const metric = await registry.getSingleMetric('controller_runtime_reconcile_total')?.get()
      const looks = (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0)
      return looks >= (await bed.kube.list(TENANTS)).items.length
    })
    // Heartbeats come and go without a trace.
    for (let beat = 0; beat < 5; beat++) await renewHeartbeat(bed.kube, 'quiet')
    await sleep(1_000)
    expect(await versions()).toEqual(before)
    expect((await tenant('quiet')).metadata.resourceVersion).toBe(settled.metadata.resourceVersion)
  })

  it('whose namespace belongs to somebody else is refused', async () => {
    const foreign = { metadata: { name: namespaceOf('taken'), labels: { 'tenant-id': 'somebody-else' } } }
    const before: KubeObject = await bed.kube.create<KubeObject>(NAMESPACES, foreign)
    const wanted = tenantSpec('taken')
    await writeMaterial(bed.kube, wanted)
    await bed.kube.create(TENANTS, wanted)
    await eventually('the conflict is told', async () => {
      return conditionOf(await tenant('taken'), 'NamespaceReady') === 'False Conflict'
    })
    const refused = await tenant('taken')
    expect(conditionOf(refused, 'Stalled')).toBe('True Conflict')
    expect(conditionOf(refused, 'Reconciling')).toBeUndefined()
    expect(refused.status?.phase).toBe('pending')
    const after = await bed.kube.get(NAMESPACES, { name: namespaceOf('taken') })
    expect(after?.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    const secrets = await bed.kube.list(SECRETS, { namespace: namespaceOf('taken') })
    expect(secrets.items).toEqual([])
  })

  it('that is suspended keeps its workloads, and comes back', async () => {
    await onboard('resting')
    const version = async () =>
      (await bed.kube.list(DEPLOYMENTS, { namespace: namespaceOf('resting') })).items.map(
        ({ metadata }) => metadata.resourceVersion,
      )
    const before = await version()
    await bed.kube.patch(TENANTS, { name: 'resting' }, { spec: { desired: 'Suspend', revision: 2 } })
    await phaseIs('resting', 'suspended')
    const suspended = await tenant('resting')
    expect(conditionOf(suspended, 'Suspended')).toBe('True Suspended')
    expect(conditionOf(suspended, 'Ready')).toBe('False Suspended')
    expect(suspended.status?.observedRevision).toBe(2)
    expect(await version()).toEqual(before)
    await bed.kube.patch(TENANTS, { name: 'resting' }, { spec: { desired: 'Run', revision: 3 } })
    await phaseIs('resting', 'active')
    expect(story(await tenant('resting')).slice(-2)).toEqual([
      'state.changed active -> suspended',
      'state.changed suspended -> active',
    ])
  })

  it('that is paused by annotation is not touched', async () => {
    await onboard('paused')
    const pause = (value: string | null) =>
      bed.kube.patch(
        TENANTS,
        { name: 'paused' },
        { metadata: { annotations: { 'service.dev/reconcile': value } } },
      )
    await pause('false')
    await eventually('the pause is told', async () => {
      return conditionOf(await tenant('paused'), 'Ready') === 'Unknown Paused'
    })
    await bed.kube.patch(TENANTS, { name: 'paused' }, { spec: { desired: 'Suspend', revision: 2 } })
    await sleep(1_000)
    expect((await tenant('paused')).status?.phase).toBe('active')
    await pause(null)
    await phaseIs('paused', 'suspended')
  })

  it('that is deleted by hand keeps everything', async () => {
    await onboard('kept')
    const uid = (await bed.kube.get(NAMESPACES, { name: namespaceOf('kept') }))?.metadata.uid
    await bed.kube.delete(TENANTS, { name: 'kept' })
    await eventually(
      'the object is gone',
      async () => (await bed.kube.get(TENANTS, { name: 'kept' })) === null,
    )
    const namespace = await bed.kube.get(NAMESPACES, { name: namespaceOf('kept') })
    expect(namespace?.metadata).toMatchObject({ uid })
    expect(namespace?.metadata.deletionTimestamp).toBeUndefined()
    expect(
      (await bed.kube.list(DEPLOYMENTS, { namespace: namespaceOf('kept') })).items.length,
    ).toBeGreaterThan(0)
  })

  it('whose order to tear down names another object keeps everything', async () => {
    const { spec } = await onboard('mistaken')
    const teardown = { tenantId: spec.tenantId, uid: 'another', force: false }
    const order = { desired: 'Decommission', teardown, revision: 2 }
    await bed.kube.patch(TENANTS, { name: 'mistaken' }, { spec: order })
    await bed.kube.delete(TENANTS, { name: 'mistaken' })
    await eventually(
      'the object is gone',
      async () => (await bed.kube.get(TENANTS, { name: 'mistaken' })) === null,
    )
    const namespace = await bed.kube.get(NAMESPACES, { name: namespaceOf('mistaken') })
    expect(namespace?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('that is ordered to be torn down goes, release first, and leaves its record', async () => {
    const { spec, metadata } = await onboard('doomed')
    const teardown = { tenantId: spec.tenantId, uid: metadata.uid, force: false }
    await bed.kube.patch(
      TENANTS,
      { name: 'doomed' },
      { spec: { desired: 'Decommission', teardown, revision: 2 } },
    )
    await eventually('the namespace is gone', async () => {
      return (await bed.kube.get(NAMESPACES, { name: namespaceOf('doomed') })) === null
    })
    await eventually(
      'the end is recorded',
      async () => story(await tenant('doomed')).at(-1) === 'namespace.deleted',
    )
    const done = await tenant('doomed')
    expect(story(done).slice(-3)).toEqual([
      'state.changed active -> decommissioning',
      'uninstalled',
      'namespace.deleted',
    ])
    expect(done.status?.phase).toBe('decommissioning')
    await bed.kube.delete(TENANTS, { name: 'doomed' })
    await eventually(
      'the object is gone',
      async () => (await bed.kube.get(TENANTS, { name: 'doomed' })) === null,
    )
  })

  it('that is deleted with an order keeps its finalizer until all is gone', async () => {
    const { spec, metadata } = await onboard('leaving')
    const teardown = { tenantId: spec.tenantId, uid: metadata.uid, force: false }
    const order = { desired: 'Decommission', teardown, revision: 2 }
    await bed.kube.patch(TENANTS, { name: 'leaving' }, { spec: order })
    await bed.kube.delete(TENANTS, { name: 'leaving' })
    let namespaceAtTheEnd: unknown
    await eventually('the object is gone', async () => {
      namespaceAtTheEnd = await bed.kube.get(NAMESPACES, { name: namespaceOf('leaving') })
      return (await bed.kube.get(TENANTS, { name: 'leaving' })) === null
    })
    expect(namespaceAtTheEnd).toBeNull()
  })
})
