import { TENANT_NAME, TenantValues } from '@service/crds'
import { PROFILES, PROFILE_NAMES } from '@service/domain'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { OTHER_ID, TENANT_ID, anySpec, minimalSpec, tenant } from '../../../crds/test/samples.ts'
import { InvalidValuesError, buildValues, namespaceManifest, valuesText } from './index.ts'
import type { PlatformValues } from './index.ts'

const PLATFORM: PlatformValues = {
  adapter: {
    apiUrl: 'http://service-system-api.service-system',
    indexerUrl: 'https://wazuh-indexer:9200',
    heartbeatSeconds: 30,
    pollSeconds: 5,
  },
  nodeSelector: {},
  wazuh: { enabled: true, sysctlInit: false },
  network: { apiNamespace: 'service-system', dnsNamespace: 'kube-system', llmCidrs: [], indexerCidrs: [] },
}
const slugs = fc.stringMatching(TENANT_NAME)

describe('the values of a tenant', () => {
  it('fit the chart for every tenant that the resource admits, and say the same again', () => {
    fc.assert(
      fc.property(slugs, anySpec, (slug, spec) => {
        const values = buildValues(tenant(slug, spec), PLATFORM)
        expect(v.parse(TenantValues, values)).toEqual(values)
        expect(valuesText(buildValues(tenant(slug, structuredClone(spec)), PLATFORM))).toBe(
          valuesText(values),
        )
      }),
      { numRuns: 150 },
    )
  })

  it.each(PROFILE_NAMES)('carry the numbers of profile %s', (name) => {
    const profile = PROFILES[name]
    const values = buildValues(tenant('acme', { ...minimalSpec, profile: name }), PLATFORM)
    expect(values.resourceQuota).toEqual(profile.quota)
    expect(values.adapter.resources).toEqual(profile.adapter)
    expect(values.runsWorker.resources).toEqual(profile.runsWorker)
    expect(values.linuxep.resources).toEqual(profile.linuxep)
    expect(values.components.wazuh).toMatchObject({
      enabled: true,
      nodeSelector: {},
      manager: {
        resources: profile.wazuh.manager.resources,
        persistence: { size: profile.wazuh.manager.storage },
      },
      indexer: {
        resources: profile.wazuh.indexer.resources,
        persistence: { size: profile.wazuh.indexer.storage },
        jvm: { heap: profile.wazuh.indexer.heap },
        sysctlInit: { enabled: false },
      },
      dashboard: { enabled: true, resources: profile.wazuh.dashboard.resources },
    })
  })

  it('are the defaults of S for the default profile', () => {
    const values = buildValues(tenant('acme', minimalSpec), PLATFORM)
    expect(values).toMatchObject({
      tenant: { id: TENANT_ID, msspId: OTHER_ID, installId: OTHER_ID, slug: 'acme', displayName: 'Acme' },
      llm: { provider: 'openai-compatible', apiKeyRef: { name: 'tenant-llm-key', key: 'api_key' } },
      integrations: { externalCortexUrl: '' },
      components: {
        wazuh: {
          manager: {
            resources: {
              requests: { cpu: '200m', memory: '512Mi' },
              limits: { cpu: '500m', memory: '1Gi' },
            },
            persistence: { size: '20Gi' },
          },
          indexer: {
            resources: { requests: { cpu: '500m', memory: '2Gi' }, limits: { cpu: '2', memory: '4Gi' } },
            persistence: { size: '50Gi' },
            jvm: { heap: '1g' },
          },
          dashboard: {
            enabled: true,
            resources: {
              requests: { cpu: '100m', memory: '512Mi' },
              limits: { cpu: '500m', memory: '1Gi' },
            },
          },
        },
        linuxep: { enabled: false },
        misp: { enabled: false },
      },
      linuxep: {
        resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '500m', memory: '512Mi' } },
      },
      networkPolicies: { enabled: true, allowedLlmHosts: [] },
      resourceQuota: {
        requests: { cpu: '3', memory: '8Gi' },
        limits: { cpu: '7', memory: '16Gi' },
        persistentVolumeClaims: 10,
        pods: 50,
      },
      wazuhIngress: { mode: 'loadbalancer', hostname: '' },
      adapter: {
        image: { repository: 'service/adapter' },
        resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '200m', memory: '256Mi' } },
        tokenSecretRef: { name: 'adapter-token', key: 'token' },
      },
      runsWorker: { concurrency: 1, drainSeconds: 60 },
      namespaceLabels: {
        tenant: 'true',
        'managed-by': 'service',
        'mssp-id': OTHER_ID,
        'install-id': OTHER_ID,
        'tenant-id': TENANT_ID,
      },
    })
  })

  it('take what the tenant is configured with', () => {
    const config = {
      ...minimalSpec.config,
      branding: { appName: 'Shield', primaryColor: '#112233' },
      llm: { provider: 'other', baseUrl: 'https://llm.example/v1', model: 'large' },
      integrations: { externalCortexUrl: 'https://cortex.example' },
      components: { linuxep: { enabled: true }, wazuh: { dashboard: { enabled: false } } },
      wazuhIngress: { mode: 'edge-haproxy', hostname: 'agents.example' },
      runsWorker: { concurrency: 3, drainSeconds: 90 },
      network: { allowedLlmHosts: ['llm.example'] },
    }
    const values = buildValues(tenant('acme', { ...minimalSpec, config }), PLATFORM)
    expect(values).toMatchObject({
      branding: config.branding,
      llm: config.llm,
      integrations: config.integrations,
      components: config.components,
      wazuhIngress: config.wazuhIngress,
      runsWorker: config.runsWorker,
      networkPolicies: config.network,
    })
  })

  it('leave out the endpoint-security stack, and the agent with it, where the install has none', () => {
    const wazuh = { enabled: false, sysctlInit: false }
    const config = { ...minimalSpec.config, components: { linuxep: { enabled: true } } }
    const values = buildValues(tenant('acme', { ...minimalSpec, config }), { ...PLATFORM, wazuh })
    expect(values.components).toMatchObject({ wazuh: { enabled: false }, linuxep: { enabled: false } })
  })

  const digest = `sha256:${'ab'.repeat(32)}`
  it.each([
    ['', { repository: 'service/adapter', tag: '0.1.0', digest: '' }],
    [':7', { repository: 'service/adapter', tag: '7', digest: '' }],
    ['r.example:5000/a/b:7', { repository: 'r.example:5000/a/b', tag: '7', digest: '' }],
    [`r.example/a@${digest}`, { repository: 'r.example/a', tag: '', digest }],
    [`r.example/a:7@${digest}`, { repository: 'r.example/a', tag: '7', digest }],
  ])('pin the image "%s"', (adapter, image) => {
    const values = buildValues(tenant('acme', { ...minimalSpec, images: { adapter } }), PLATFORM)
    expect(values.adapter.image).toMatchObject(image)
  })

  it('put the pods on the nodes of the platform', () => {
    const nodeSelector = { 'service.dev/local-node': 'true' }
    expect(buildValues(tenant('acme', minimalSpec), { ...PLATFORM, nodeSelector })).toMatchObject({
      nodeSelector,
      adapter: PLATFORM.adapter,
    })
  })

  it('ignore what a newer definition has added to the resource', () => {
    const newer = tenant('acme', minimalSpec)
    const spec = { ...newer.spec, config: { ...newer.spec.config, color: 'blue' }, extra: 1 }
    expect(buildValues({ ...newer, spec }, PLATFORM)).toEqual(buildValues(newer, PLATFORM))
  })

  it.each<[string, Partial<PlatformValues['adapter']>, RegExp]>([
    ['an address with credentials', { apiUrl: 'https://me:hush@api.example' }, /adapter.apiUrl/],
    ['no address', { indexerUrl: '' }, /adapter.indexerUrl/],
    ['heartbeats that come too late', { heartbeatSeconds: 200 }, /adapter.heartbeatSeconds: expected <=120/],
  ])('refuse %s without repeating it', (_, part, message) => {
    const build = () =>
      buildValues(tenant('acme', minimalSpec), { ...PLATFORM, adapter: { ...PLATFORM.adapter, ...part } })
    expect(build).toThrow(InvalidValuesError)
    expect(build).toThrow(message)
    expect(build).not.toThrow(/hush/)
  })

  it('refuse a spec that did not come from our API server', () => {
    const { metadata, ...rest } = tenant('acme', minimalSpec)
    const broken = { ...rest, metadata, spec: { ...rest.spec, profile: 'huge' as 'pilot' } }
    expect(() => buildValues(broken, PLATFORM)).toThrow(/spec of the tenant.*profile/)
  })

  it('are written so that YAML reads back what was meant', () => {
    const name = 'a\u007fb\u0085c\u0090d\ufeff\uffff\u2028🛡"\\\n'
    const text = valuesText(buildValues(tenant('acme', { ...minimalSpec, displayName: name }), PLATFORM))
    expect(text).not.toMatch(/[\u007f-\u009f\ufeff\uffff\u2028]/)
    expect(JSON.parse(text)).toMatchObject({ tenant: { displayName: name } })
  })
})

describe('the namespace of a tenant', () => {
  it.each([
    [{ enabled: false, sysctlInit: true }, 'restricted'],
    [{ enabled: true, sysctlInit: false }, 'baseline'],
    [{ enabled: true, sysctlInit: true }, 'privileged'],
  ])('with %o admits %s pods', (wazuh, level) => {
    const { labels } = namespaceManifest(tenant('acme', minimalSpec), wazuh).metadata
    expect(labels['pod-security.kubernetes.io/enforce']).toBe(level)
  })

  it('carries the labels of S, and warns of every pod that is less than restricted', () => {
    expect(namespaceManifest(tenant('acme', minimalSpec), PLATFORM.wazuh)).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'tenant-acme',
        labels: {
          tenant: 'true',
          'managed-by': 'service',
          'mssp-id': OTHER_ID,
          'install-id': OTHER_ID,
          'tenant-id': TENANT_ID,
          'pod-security.kubernetes.io/enforce': 'baseline',
          'pod-security.kubernetes.io/audit': 'restricted',
          'pod-security.kubernetes.io/warn': 'restricted',
        },
      },
    })
  })

  it('has a name and labels that Kubernetes takes, for every tenant', () => {
    fc.assert(
      fc.property(slugs, anySpec, (slug, spec) => {
        const { name, labels } = namespaceManifest(tenant(slug, spec), PLATFORM.wazuh).metadata
        expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
        for (const value of Object.values(labels)) expect(value).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/)
      }),
    )
  })
})
