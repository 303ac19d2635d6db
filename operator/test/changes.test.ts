import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { SECRETS_REVISION_ANNOTATION, TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { materialKey, materialSecretName, namespaceOf } from '@service/domain'
import { DEPLOYMENTS, EVENTS, NAMESPACES, SECRETS, STATEFUL_SETS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  CHART,
  eventually,
  INSTALL,
  readTenant,
  renewHeartbeat,
  setPodsReady,
  startTestBed,
  writeMaterial,
} from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { conditionOf, ONBOARDED, story, tenantSpec } from './tenant.ts'

const MINUTE = 60_000
const ROLLED_BACK = 'rolled_back release'

describe('a tenant to which things happen', () => {
  let bed: TestBed
  let operator: Awaited<ReturnType<TestBed['startOperator']>>
  /** What the operator's clock is ahead of the true time. */
  let ahead = 0
  const now = (): Date => new Date(Date.now() + ahead)
  const tenant = (slug: string) => readTenant(bed.kube, slug)
  const phaseIs = (slug: string, phase: string) =>
    eventually(`${slug} is ${phase}`, async () => (await tenant(slug)).status?.phase === phase)
  const conditionIs = (slug: string, type: string, wanted: string) =>
    eventually(`${slug}: ${type} ${wanted}`, async () => conditionOf(await tenant(slug), type) === wanted)
  const patchSpec = (slug: string, spec: object) => bed.kube.patch(TENANTS, { name: slug }, { spec })
  const create = async (slug: string, change: Partial<Tenant['spec']> = {}): Promise<void> => {
    const wanted = tenantSpec(slug, change)
    await writeMaterial(bed.kube, wanted)
    await bed.kube.create(TENANTS, wanted)
  }
  const onboard = async (slug: string): Promise<void> => {
    await create(slug)
    await phaseIs(slug, 'provisioning')
    await setPodsReady(bed.kube, slug, true)
    await renewHeartbeat(bed.kube, slug, now())
    await phaseIs(slug, 'active')
  }
  const since = async (slug: string, known: readonly string[]): Promise<string[]> =>
    story(await tenant(slug)).slice(known.length)

  beforeAll(async () => {
    bed = await startTestBed()
    operator = await bed.startOperator({}, { clock: now })
  })
  afterAll(() => bed.end())

  it('fails readably with a chart that cannot be installed, is rolled back, and repaired by a retry', async () => {
    const ref = join(bed.directory, 'broken')
    await cp(CHART, ref, { recursive: true })
    const broken = join(ref, 'templates', 'broken.yaml')
    await writeFile(broken, '{{ fail "this chart is broken on purpose" }}\n')
    await create('broken', { chart: { ref, version: '0.1.0' } })
    await conditionIs('broken', 'ReleaseInstalled', 'False InstallFailed')
    const failed = await tenant('broken')
    expect(failed.status?.phase).toBe('pending')
    expect(failed.status?.failure).toMatchObject({
      step: 'release',
      reason: 'InstallFailed',
      retryToken: '0',
    })
    expect(failed.status?.failure?.message).toContain('this chart is broken on purpose')
    const entry = failed.status?.journal?.find(({ kind }) => kind === 'step.failed')
    expect(entry).toMatchObject({ step: 'release' })
    expect(entry?.evidence).toContain('this chart is broken on purpose')
    await eventually('it is rolled back', async () => story(await tenant('broken')).at(-1) === ROLLED_BACK)
    const over = await tenant('broken')
    expect(conditionOf(over, 'Stalled')).toBe('True InstallFailed')
    expect(conditionOf(over, 'Reconciling')).toBeUndefined()
    expect(await bed.kube.get(NAMESPACES, { name: namespaceOf('broken') })).toBeNull()
    type KubeEvent = KubeObject & { regarding?: { name?: string }; reason?: string; type?: string }
    await eventually('a warning is told', async () => {
      const { items } = await bed.kube.list<KubeEvent>(EVENTS, { namespace: 'default' })
      return items.some((each) => each.regarding?.name === 'broken' && each.reason === 'InstallFailed')
    })
    await writeFile(broken, '')
    // Another revision alone does not start it again.
    await patchSpec('broken', { revision: 2 })
    await sleep(1_500)
    expect(story(await tenant('broken')).at(-1)).toBe(ROLLED_BACK)
    await patchSpec('broken', { revision: 3, retryToken: '1' })
    await phaseIs('broken', 'provisioning')
    const repaired = await tenant('broken')
    expect(repaired.status?.failure).toBeUndefined()
    expect(conditionOf(repaired, 'Stalled')).toBeUndefined()
    expect(story(repaired).filter((line) => line.endsWith('release'))).toEqual([
      'step.started release',
      'step.failed release',
      ROLLED_BACK,
      'step.started release',
      'step.done release',
    ])
  })

  it('copies new material when the revision asks for it, and only what differs', async () => {
    await onboard('rotated')
    const namespace = namespaceOf('rotated')
    type Secret = KubeObject & { data?: Record<string, string> }
    const read = (name: string) => bed.kube.get<Secret>(SECRETS, { name, namespace })
    const llm = await read('tenant-llm-key')
    await patchSpec('rotated', { revision: 2, secretsRevision: 2 })
    await conditionIs('rotated', 'SecretsReady', 'False MaterialStale')
    await writeMaterial(bed.kube, await tenant('rotated'), 2)
    await patchSpec('rotated', { revision: 3 })
    await conditionIs('rotated', 'SecretsReady', 'True Copied')
    const token = await read('adapter-token')
    expect(Buffer.from(token?.data?.['token'] ?? '', 'base64').toString()).toBe('token-2')
    expect((await read('tenant-llm-key'))?.metadata.resourceVersion).toBe(llm?.metadata.resourceVersion)
    expect((await tenant('rotated')).status?.phase).toBe('active')
  })

  it('is upgraded when its values change, and stays active', async () => {
    await onboard('changed')
    const before = story(await tenant('changed'))
    await patchSpec('changed', { revision: 2, displayName: 'Another name' })
    await eventually('the upgrade is recorded', async () => (await since('changed', before)).length === 2)
    expect(await since('changed', before)).toEqual(['upgrade.started release', 'upgrade.done release'])
    const changed = await tenant('changed')
    expect(changed.status?.phase).toBe('active')
    expect(changed.status?.release?.revision).toBe(2)
  })

  it('gets its Secrets and its release back when somebody removes them', async () => {
    await onboard('robbed')
    const namespace = namespaceOf('robbed')
    await bed.kube.delete(SECRETS, { name: 'adapter-token', namespace })
    await patchSpec('robbed', { revision: 2 })
    await eventually('the secret is back', async () => {
      return (await bed.kube.get(SECRETS, { name: 'adapter-token', namespace })) !== null
    })
    const { items } = await bed.kube.list(DEPLOYMENTS, { namespace })
    for (const { metadata } of items) await bed.kube.delete(DEPLOYMENTS, metadata)
    await conditionIs('robbed', 'WorkloadsReady', 'False PodsNotReady')
    expect((await tenant('robbed')).status?.phase).toBe('active')
  })

  it('gets its namespace back when somebody deletes it', async () => {
    await onboard('homeless')
    const before = story(await tenant('homeless'))
    const uid = (await bed.kube.get(NAMESPACES, { name: namespaceOf('homeless') }))?.metadata.uid
    await bed.kube.delete(NAMESPACES, { name: namespaceOf('homeless') })
    await eventually(
      'another namespace with everything in it',
      async () => {
        const found = await bed.kube.get(NAMESPACES, { name: namespaceOf('homeless') })
        const current = await tenant('homeless')
        const installed = conditionOf(current, 'ReleaseInstalled') === 'True Installed'
        return (
          found !== null &&
          found.metadata.uid !== uid &&
          installed &&
          story(current).at(-1) === 'upgrade.done release'
        )
      },
      40_000,
    )
    expect((await since('homeless', before))[0]).toBe('namespace.missing')
    expect((await tenant('homeless')).status?.phase).toBe('active')
  })

  it('is not run over by Helm of somebody else', async () => {
    await onboard('shared')
    const namespace = namespaceOf('shared')
    type Secret = KubeObject & { type?: string; data?: Record<string, string> }
    const name = 'sh.helm.release.v1.service-tenant.v1'
    const first = await bed.kube.get<Secret>(SECRETS, { name, namespace })
    if (first === null) throw new Error('no release record')
    // As `helm upgrade` by hand leaves it while it runs: labels are handed down from the record before.
    const labels = { ...first.metadata.labels, status: 'pending-upgrade', version: '2' }
    const second = await bed.kube.create<Secret>(SECRETS, {
      metadata: { name: name.replace('v1.service-tenant.v1', 'v1.service-tenant.v2'), namespace, labels },
      type: first.type ?? 'helm.sh/release.v1',
      data: pendingRecord(first.data?.['release'] ?? ''),
    })
    await patchSpec('shared', { revision: 2, displayName: 'Changed meanwhile' })
    await conditionIs('shared', 'ReleaseInstalled', 'False ForeignOperation')
    const still = await bed.kube.get(SECRETS, second.metadata)
    expect(still?.metadata.resourceVersion).toBe(second.metadata.resourceVersion)
    await bed.kube.delete(SECRETS, second.metadata)
    await patchSpec('shared', { revision: 3 })
    await conditionIs('shared', 'ReleaseInstalled', 'True Installed')
    expect((await tenant('shared')).status?.release?.revision).toBe(2)
  })

  it('shows a silent adapter, and keeps its state', async () => {
    await onboard('silent')
    ahead += 3 * MINUTE
    await conditionIs('silent', 'AdapterConnected', 'False HeartbeatStale')
    expect((await tenant('silent')).status?.phase).toBe('active')
    await renewHeartbeat(bed.kube, 'silent', now())
    await conditionIs('silent', 'AdapterConnected', 'True Connected')
    await conditionIs('silent', 'Ready', 'True Succeeded')
  })

  it('is degraded when its time is up, says why, and gets a fresh start by a retry', async () => {
    await create('slow')
    await phaseIs('slow', 'provisioning')
    ahead += 16 * MINUTE
    await patchSpec('slow', { revision: 2 })
    await phaseIs('slow', 'degraded')
    const late = await tenant('slow')
    expect(late.status?.failure).toMatchObject({ step: 'workloads', reason: 'TimedOut' })
    const change = late.status?.journal?.at(-1)
    expect(change).toMatchObject({ kind: 'state.changed', from: 'provisioning', to: 'degraded' })
    expect(change?.evidence).toContain('Deployment service-tenant-adapter')
    expect(
      (await bed.kube.list(DEPLOYMENTS, { namespace: namespaceOf('slow') })).items.length,
    ).toBeGreaterThan(0)
    await patchSpec('slow', { revision: 3, retryToken: '1' })
    await phaseIs('slow', 'provisioning')
    await setPodsReady(bed.kube, 'slow', true)
    await renewHeartbeat(bed.kube, 'slow', now())
    await phaseIs('slow', 'active')
    expect(
      story(await tenant('slow')).slice(ONBOARDED.indexOf('state.changed pending -> provisioning') + 1),
    ).toEqual([
      'step.started workloads',
      'step.failed workloads',
      'state.changed provisioning -> degraded',
      'state.changed degraded -> provisioning',
      'step.started workloads',
      'step.done workloads',
      'step.started heartbeat',
      'step.done heartbeat',
      'state.changed provisioning -> active',
    ])
  })

  it('leaves no secret in status, values, release records or events', async () => {
    const [tenants, events, secrets] = await Promise.all([
      bed.kube.list(TENANTS),
      bed.kube.list(EVENTS),
      bed.kube.list<KubeObject & { data?: Record<string, string> }>(SECRETS, { labelSelector: 'owner=helm' }),
    ])
    const records = secrets.items.map(({ data }) => unpack(data?.['release'] ?? ''))
    const text = JSON.stringify([tenants.items, events.items, records])
    // What writeMaterial puts into each key.
    for (const value of ['token-1', 'password-1', 'indexer_password-1', 'api_password-1']) {
      expect(text).not.toContain(value)
    }
    expect(records.length).toBeGreaterThan(0)
  })

  it('has the part of its stack started anew that reads what has changed, and nothing else', async () => {
    await operator.stop()
    await bed.startOperator({ SERVICE_TENANT_WAZUH: 'true' }, { clock: now })
    await create('stacked')
    await phaseIs('stacked', 'provisioning')
    const namespace = namespaceOf('stacked')
    type Workload = KubeObject & {
      spec: { template: { metadata: { annotations?: Record<string, string> } } }
    }
    const parts = async () => {
      const found = await Promise.all(
        [STATEFUL_SETS, DEPLOYMENTS].map((type) => bed.kube.list<Workload>(type, { namespace })),
      )
      return new Map(
        found
          .flatMap(({ items }) => items)
          .map(({ metadata, spec }) => [metadata.name, JSON.stringify(spec.template)] as const),
      )
    }
    const before = await parts()
    const { tenantId } = (await tenant('stacked')).spec
    const key = { name: materialSecretName(tenantId), namespace: INSTALL }
    const renewed = Buffer.from('another certificate').toString('base64')
    const data = { [materialKey('wazuh-manager-tls', 'tls.crt')]: renewed }
    const annotations = { [SECRETS_REVISION_ANNOTATION]: '2' }
    await bed.kube.patch(SECRETS, key, { metadata: { annotations }, data })
    await patchSpec('stacked', { revision: 2, secretsRevision: 2 })
    await eventually('the release is renewed', async () => {
      return (await tenant('stacked')).status?.release?.revision === 2
    })
    const after = await parts()
    const changed = [...after].filter(([name, template]) => before.get(name) !== template)
    expect(changed.map(([name]) => name)).toEqual(['wazuh-manager'])
    expect(JSON.stringify([...after])).not.toContain(renewed)
    await patchSpec('stacked', { revision: 3 })
    await eventually('it is looked at', async () => (await tenant('stacked')).status?.observedRevision === 3)
    expect((await tenant('stacked')).status?.release?.revision).toBe(2)
  })
})

function unpack(data: string): Record<string, unknown> {
  const packed = Buffer.from(Buffer.from(data, 'base64').toString('latin1'), 'base64')
  return JSON.parse(gunzipSync(packed).toString('utf8')) as Record<string, unknown>
}

function pendingRecord(data: string): Record<string, string> {
  const release = unpack(data)
  const info = { ...(release['info'] as object), status: 'pending-upgrade' }
  const packed = gzipSync(JSON.stringify({ ...release, version: 2, info })).toString('base64')
  return { release: Buffer.from(packed, 'latin1').toString('base64') }
}
