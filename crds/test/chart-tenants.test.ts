import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROFILES, PROFILE_NAMES, RELEASE_NAME } from '@service/domain'
import type { ProfileName } from '@service/domain'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectApi, readKubeconfig } from '../../dev/src/cluster/client.ts'
import type { ApiClient } from '../../dev/src/cluster/client.ts'
import { testCluster } from '../../dev/src/cluster/testing.ts'
import type { TestCluster } from '../../dev/src/cluster/testing.ts'
import { buildValues, namespaceManifest, valuesText } from '../../operator/src/desired/index.ts'
import type { PlatformValues } from '../../operator/src/desired/index.ts'
import { TENANT_NAME } from '../src/index.ts'
import { CHART, manifests, render, runHelm, workloadsOf } from './helm.ts'
import type { Container, Workload } from './helm.ts'
import { quantity } from './quantity.ts'
import { anySpec, minimalSpec, tenant } from './samples.ts'

const PLATFORM: PlatformValues = {
  adapter: {
    apiUrl: 'http://127.0.0.1:18080',
    indexerUrl: 'http://127.0.0.1:19200/acme',
    heartbeatSeconds: 2,
    pollSeconds: 1,
  },
  nodeSelector: { 'service.dev/local-node': 'true' },
  wazuh: { enabled: true, sysctlInit: false },
  network: { apiNamespace: 'service-system', dnsNamespace: 'kube-system', llmCidrs: [], indexerCidrs: [] },
}
const textOf = (slug: string, spec: unknown): string => valuesText(buildValues(tenant(slug, spec), PLATFORM))

describe('the chart', () => {
  it('takes the values of every tenant that the resource admits', () => {
    fc.assert(
      fc.property(fc.stringMatching(TENANT_NAME), anySpec, (slug, spec) => {
        expect(render(textOf(slug, spec)).error).toBe('')
      }),
      { numRuns: 20 },
    )
    // Each is a process of its own, on a machine that may be busy.
  }, 240_000)

  it('takes a name that YAML would not take as it is', () => {
    const displayName = '\u007f\u0080\u009f\ufeff\ufffe\u2028{{ fail "x" }}🛡\u{1f5a4}"\\\n\t'
    expect(render(textOf('acme', { ...minimalSpec, displayName })).error).toBe('')
  })
})

type Amounts = Readonly<Record<string, string>>
type Kind = 'requests' | 'limits'

/** As the scheduler and the quota count a pod: its containers together, or its greediest init container. */
function podTotal({ spec }: Workload['spec']['template'], kind: Kind, resource: string): number {
  const of = ({ resources }: Container): number => quantity((resources[kind] as Amounts)[resource] ?? '')
  const running = spec.containers.reduce((sum, each) => sum + of(each), 0)
  return Math.max(running, ...(spec.initContainers ?? []).map(of))
}

/** Pods at the worst moment of an upgrade: a Deployment that does not recreate makes one more first (25 %, rounded up). */
const podsOf = ({ kind, spec }: Workload): number =>
  spec.replicas +
  (kind === 'Deployment' && spec.strategy?.type !== 'Recreate' ? Math.ceil(spec.replicas / 4) : 0)

describe.each(PROFILE_NAMES)('the quota of profile %s', (name: ProfileName) => {
  const { quota, ...profile } = PROFILES[name]
  const config = {
    ...minimalSpec.config,
    components: { linuxep: { enabled: true }, wazuh: { dashboard: { enabled: true } } },
  }
  const values = (wazuh: PlatformValues['wazuh']) =>
    buildValues(tenant('acme', { ...minimalSpec, profile: name, config }), { ...PLATFORM, wazuh })
  const all = manifests(values({ enabled: true, sysctlInit: true }))
  const workloads = workloadsOf(all)

  it('is what the namespace gets', () => {
    const [hard] = all.filter(({ kind }) => kind === 'ResourceQuota').map(({ spec }) => spec)
    expect(hard).toEqual({
      hard: {
        'requests.cpu': quota.requests.cpu,
        'requests.memory': quota.requests.memory,
        'limits.cpu': quota.limits.cpu,
        'limits.memory': quota.limits.memory,
        persistentvolumeclaims: String(quota.persistentVolumeClaims),
        pods: String(quota.pods),
      },
    })
  })

  it.each(
    (['requests', 'limits'] as const).flatMap((kind) =>
      (['cpu', 'memory'] as const).map((resource) => [kind, resource] as const),
    ),
  )('holds the %s of %s of every pod with everything on, also in an upgrade', (kind, resource) => {
    const rendered = workloads.map((each) => podsOf(each) * podTotal(each.spec.template, kind, resource))
    for (const amount of rendered) expect(amount).toBeGreaterThan(0)
    const sum = rendered.reduce((total, amount) => total + amount, 0)
    expect(sum).toBeLessThanOrEqual(quantity(quota[kind][resource]))
  })

  it('holds their number and their volumes', () => {
    expect(workloads.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'linuxep',
      `${RELEASE_NAME}-adapter`,
      `${RELEASE_NAME}-runs-worker`,
      'wazuh-dashboard',
      'wazuh-indexer',
      'wazuh-manager',
    ])
    const pods = workloads.reduce((sum, each) => sum + podsOf(each), 0)
    expect(pods).toBeLessThanOrEqual(quota.pods)
    const claims = workloads.flatMap(({ spec }) =>
      (spec.volumeClaimTemplates ?? []).flatMap((claim) =>
        Array.from({ length: spec.replicas }, () => claim),
      ),
    )
    expect(claims.map(({ spec }) => spec.resources.requests.storage)).toEqual(
      expect.arrayContaining([profile.wazuh.manager.storage, profile.wazuh.indexer.storage]),
    )
    expect(claims.length).toBeLessThanOrEqual(quota.persistentVolumeClaims)
  })
})

describe('a release on a real cluster', () => {
  let cluster: TestCluster
  let api: ApiClient
  let folder: string
  const slug = `t${crypto.randomUUID().slice(0, 8)}`
  const acme = tenant(slug, minimalSpec)
  const namespace = namespaceManifest(acme, PLATFORM.wazuh)
  const path = (kind: string, group = '/api/v1') => `${group}/namespaces/${namespace.metadata.name}/${kind}`

  beforeAll(async () => {
    cluster = await testCluster()
    api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
    folder = await mkdtemp(join(tmpdir(), 'service-chart-'))
    await api.call('POST', '/api/v1/namespaces', { body: namespace })
  })
  afterAll(async () => {
    await api?.call('DELETE', `/api/v1/namespaces/${namespace.metadata.name}`).catch(() => undefined)
    api?.close()
    await rm(folder, { recursive: true, force: true })
    await cluster?.stop()
  })

  const upgrade = (): void => {
    const file = join(folder, 'values.json')
    writeFileSync(file, valuesText(buildValues(acme, PLATFORM)))
    const target = ['--kubeconfig', cluster.kubeconfigPath, '--namespace', namespace.metadata.name]
    const operation = ['upgrade', RELEASE_NAME, CHART, '--install', '--values', file]
    const { status, stderr } = runHelm([...target, ...operation])
    expect(status, stderr).toBe(0)
  }

  it('gets its pods past Pod Security and quota, and is left alone by a second upgrade', async () => {
    upgrade()
    type Pods = { items: { metadata: { name: string }; spec: { automountServiceAccountToken: boolean } }[] }
    const names = async () =>
      (await api.call<Pods>('GET', path('pods'))).items
        .map(({ metadata, spec }) => `${metadata.name} ${spec.automountServiceAccountToken}`)
        .toSorted()
    await expect
      .poll(names, { timeout: 30_000 })
      .toEqual([
        expect.stringMatching(/^service-tenant-adapter-.* false$/),
        expect.stringMatching(/^service-tenant-runs-worker-.* false$/),
        expect.stringMatching(/^wazuh-dashboard-.* false$/),
        'wazuh-indexer-0 false',
        'wazuh-manager-0 false',
      ])
    type Quotas = { items: { status: { used?: Record<string, string> } }[] }
    await expect
      .poll(async () => (await api.call<Quotas>('GET', path('resourcequotas'))).items[0]?.status.used, {
        timeout: 30_000,
      })
      .toMatchObject({
        pods: '5',
        persistentvolumeclaims: '2',
        'requests.cpu': '900m',
        'requests.memory': '3328Mi',
        'limits.cpu': '3700m',
        'limits.memory': '6912Mi',
      })

    type Stored = { metadata: { generation: number } }
    const deployment = `${path('deployments', '/apis/apps/v1')}/${RELEASE_NAME}-adapter`
    const { metadata } = await api.call<Stored>('GET', deployment)
    upgrade()
    await expect(api.call<Stored>('GET', deployment)).resolves.toMatchObject({
      metadata: { generation: metadata.generation },
    })
  }, 60_000)
})
