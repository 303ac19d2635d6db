import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROFILES, PROFILE_NAMES, RELEASE_NAME } from '@service/domain'
import type { ProfileName, Resources } from '@service/domain'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectApi, readKubeconfig } from '../../dev/src/cluster/client.ts'
import type { ApiClient } from '../../dev/src/cluster/client.ts'
import { testCluster } from '../../dev/src/cluster/testing.ts'
import type { TestCluster } from '../../dev/src/cluster/testing.ts'
import { buildValues, namespaceManifest, valuesText } from '../../operator/src/desired/index.ts'
import type { PlatformValues } from '../../operator/src/desired/index.ts'
import { TENANT_NAME } from '../src/index.ts'
import { CHART, deploymentsOf, manifests, render, runHelm } from './helm.ts'
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
}
const textOf = (slug: string, spec: unknown): string => valuesText(buildValues(tenant(slug, spec), PLATFORM))

describe('the chart', () => {
  it('takes the values of every tenant that the resource admits', () => {
    fc.assert(
      fc.property(fc.stringMatching(TENANT_NAME), anySpec, (slug, spec) => {
        expect(render(textOf(slug, spec)).error).toBe('')
      }),
      { numRuns: 25 },
    )
    // Each is a process of its own, on a machine that may be busy.
  }, 240_000)

  it('takes a name that YAML would not take as it is', () => {
    const displayName = '\u007f\u0080\u009f\ufeff\ufffe\u2028{{ fail "x" }}🛡\u{1f5a4}"\\\n\t'
    expect(render(textOf('acme', { ...minimalSpec, displayName })).error).toBe('')
  })
})

type Sum = { cpu: number; memory: number }
const sumOf = (amounts: readonly { cpu?: string; memory?: string }[]): Sum => ({
  cpu: amounts.reduce((sum, { cpu = '' }) => sum + quantity(cpu), 0),
  memory: amounts.reduce((sum, { memory = '' }) => sum + quantity(memory), 0),
})
const fits = (
  amounts: readonly { cpu?: string; memory?: string }[],
  quota: { cpu: string; memory: string },
) => {
  const sum = sumOf(amounts)
  expect(sum.cpu).toBeGreaterThan(0)
  expect(sum.cpu).toBeLessThanOrEqual(quantity(quota.cpu))
  expect(sum.memory).toBeLessThanOrEqual(quantity(quota.memory))
}

describe.each(PROFILE_NAMES)('the quota of profile %s', (name: ProfileName) => {
  const { quota, ...profile } = PROFILES[name]

  it('holds all pods that the chart renders', () => {
    const values = buildValues(tenant('acme', { ...minimalSpec, profile: name }), PLATFORM)
    const all = manifests(values)
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
    const containers = deploymentsOf(all).flatMap(({ spec }) =>
      Array.from({ length: spec.replicas }, () => spec.template.spec.containers).flat(),
    )
    fits(
      containers.map(({ resources }) => resources.requests),
      quota.requests,
    )
    fits(
      containers.map(({ resources }) => resources.limits),
      quota.limits,
    )
    expect(containers.length).toBeLessThanOrEqual(quota.pods)
  })

  it('also holds the parts that are still to come', () => {
    const { wazuh, adapter, runsWorker, linuxep } = profile
    const parts: Resources[] = [
      adapter,
      runsWorker,
      linuxep,
      wazuh.manager.resources,
      wazuh.indexer.resources,
      ...(profile.dashboard ? [wazuh.dashboard.resources] : []),
    ]
    fits(
      parts.map(({ requests }) => requests),
      quota.requests,
    )
    fits(
      parts.map(({ limits }) => limits),
      quota.limits,
    )
  })
})

describe('a release on a real cluster', () => {
  let cluster: TestCluster
  let api: ApiClient
  let folder: string
  const slug = `t${crypto.randomUUID().slice(0, 8)}`
  const acme = tenant(slug, minimalSpec)
  const namespace = namespaceManifest(acme)
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
    type Pods = { items: { spec: { serviceAccountName: string }; status: { qosClass: string } }[] }
    const byAccount = (pods: Pods['items']) =>
      pods.toSorted((a, b) => a.spec.serviceAccountName.localeCompare(b.spec.serviceAccountName))
    await expect
      .poll(async () => byAccount((await api.call<Pods>('GET', path('pods'))).items), { timeout: 20_000 })
      .toMatchObject(
        ['adapter', 'runs-worker'].map((part) => ({
          spec: { serviceAccountName: `${RELEASE_NAME}-${part}`, automountServiceAccountToken: false },
        })),
      )
    type Quotas = { items: { status: { used?: Record<string, string> } }[] }
    await expect
      .poll(async () => (await api.call<Quotas>('GET', path('resourcequotas'))).items[0]?.status.used, {
        timeout: 20_000,
      })
      .toMatchObject({ pods: '2', 'requests.cpu': '100m', 'requests.memory': '256Mi', 'limits.cpu': '700m' })

    type Stored = { metadata: { generation: number } }
    const deployment = `${path('deployments', '/apis/apps/v1')}/${RELEASE_NAME}-adapter`
    const { metadata } = await api.call<Stored>('GET', deployment)
    upgrade()
    await expect(api.call<Stored>('GET', deployment)).resolves.toMatchObject({
      metadata: { generation: metadata.generation },
    })
  }, 60_000)
})
