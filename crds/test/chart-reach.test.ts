import { PROFILE_NAMES } from '@service/domain'
import type { ProfileName } from '@service/domain'
import { describe, expect, it } from 'vitest'
import { manifests as systemManifests, podOf, valuesOf } from '../../api/test/chart/chart.ts'
import type { Values as SystemValues } from '../../api/test/chart/chart.ts'
import { mayReach } from '../../dev/src/network/reach.ts'
import type { Labels, Network, NetworkPolicy, Outside, Pod, Port } from '../../dev/src/network/reach.ts'
import { buildValues, namespaceManifest } from '../../operator/src/desired/index.ts'
import type { PlatformValues } from '../../operator/src/desired/index.ts'
import { CHART, manifests } from './helm.ts'
import type { Container, Manifest, PodTemplate } from './helm.ts'
import { minimalSpec, tenant } from './samples.ts'

/** Both charts as they are installed beside each other: the system, and tenants x and y with everything on. */
const PLATFORM: PlatformValues = {
  adapter: {
    apiUrl: 'http://service-system-api.service-system.svc:8080',
    indexerUrl: 'https://wazuh-indexer.tenant-x.svc:9200',
    heartbeatSeconds: 30,
    pollSeconds: 5,
  },
  nodeSelector: {},
  wazuh: { enabled: true, sysctlInit: false },
  network: {
    apiNamespace: 'service-system',
    dnsNamespace: 'kube-system',
    llmCidrs: ['203.0.113.0/28'],
    indexerCidrs: [],
  },
}
const COMPONENT = 'app.kubernetes.io/component'

type Side = { readonly pods: ReadonlyMap<string, Pod>; readonly policies: readonly NetworkPolicy[] }
let addresses = 0
const nextIp = (): string => `10.244.${Math.floor(addresses / 200)}.${(addresses++ % 200) + 2}`

type Template = { readonly labels: Labels; readonly containers: readonly Pick<Container, 'ports'>[] }
function sideOf(
  prefix: string,
  namespace: string,
  all: readonly object[],
  templates: readonly Template[],
): Side {
  const pods = templates.map(({ labels, containers }) => {
    const ports = containers.flatMap(({ ports = [] }: { ports?: Pod['ports'] }) => ports)
    return [`${prefix}/${labels[COMPONENT]}`, { namespace, labels, ip: nextIp(), ports }] as const
  })
  const policies = (all as NetworkPolicy[]).filter(({ kind }) => kind === 'NetworkPolicy')
  return { pods: new Map(pods), policies }
}

function tenantSide(slug: string, profile: ProfileName, llm = 'https://llm.example/v1'): Side {
  const config = {
    ...minimalSpec.config,
    components: { linuxep: { enabled: true }, wazuh: { dashboard: { enabled: true } } },
    llm: { baseUrl: llm },
  }
  const values = buildValues(tenant(slug, { ...minimalSpec, profile, config }), PLATFORM)
  const namespace = `tenant-${slug}`
  const all = manifests(values, CHART, ['--namespace', namespace])
  const templates = all
    .map(({ spec }: Manifest) => (spec as { template?: PodTemplate } | undefined)?.template)
    .filter((template) => template !== undefined)
    .map(({ metadata, spec }) => ({ labels: metadata.labels, containers: spec.containers }))
  return sideOf(slug, namespace, all, templates)
}

function systemSide(values: SystemValues): Side {
  const all = systemManifests(values)
  const templates = all.flatMap((each) => {
    const pod = podOf(each)
    if (pod === undefined) return []
    const { template } = (each.spec ?? {}) as unknown as { template?: { metadata: { labels: Labels } } }
    return [
      {
        labels: template?.metadata.labels ?? each.metadata.labels ?? {},
        containers: pod.containers as unknown as Template['containers'],
      },
    ]
  })
  return sideOf('system', 'service-system', all, templates)
}

/** Everybody who is nobody of ours; those in namespaces of others carry the labels of ours. */
const strangers = (): ReadonlyMap<string, Pod> => {
  const pod = (namespace: string, component: string, ports: Pod['ports'] = []): Pod => ({
    namespace,
    labels: {
      [COMPONENT]: component,
      'app.kubernetes.io/name': 'service-tenant',
      'app.kubernetes.io/instance': 'service-tenant',
    },
    ip: nextIp(),
    ports,
  })
  return new Map([
    [
      'dns',
      {
        namespace: 'kube-system',
        labels: { 'k8s-app': 'kube-dns' },
        ip: nextIp(),
        ports: [{ containerPort: 53 }],
      },
    ],
    ['prometheus', pod('monitoring', 'prometheus')],
    ['other/adapter', pod('other', 'adapter')],
    ['other/api', pod('other', 'api')],
    ['other/indexer', pod('other', 'indexer', [{ containerPort: 9_200 }])],
    ['system/guest', { namespace: 'service-system', labels: { app: 'guest' }, ip: nextIp(), ports: [] }],
    ['x/guest', { namespace: 'tenant-x', labels: { app: 'guest' }, ip: nextIp(), ports: [] }],
  ])
}
const OUTSIDE: ReadonlyMap<string, Outside> = new Map([
  ['kube-apiserver', { ip: '172.18.0.2' }],
  ['metadata', { ip: '169.254.169.254' }],
  ['llm', { ip: '203.0.113.9' }],
  ['internet', { ip: '198.51.100.9' }],
])
/** Besides the ports that a pod opens: those of the world, and one that nobody names anywhere. */
const PORTS_OUTSIDE = [80, 443, 6_443, 9_999]

const NAMESPACES: Network['namespaces'] = Object.fromEntries(
  ['x', 'y'].map((slug) => {
    const { name, labels } = namespaceManifest(tenant(slug, minimalSpec), PLATFORM.wazuh).metadata
    return [name, labels]
  }),
)

/** All that is allowed, as `from > to:port`. */
function matrix(sides: readonly Side[]): string[] {
  const network = { policies: sides.flatMap(({ policies }) => policies), namespaces: NAMESPACES }
  const ours = new Map(sides.flatMap(({ pods }) => [...pods]))
  const pods = new Map([...ours, ...strangers()])
  const everybody = new Map<string, Pod | Outside>([...pods, ...OUTSIDE])
  const portsOf = (to: Pod | Outside): Port[] => {
    const numbers =
      'ports' in to ? [...to.ports.map(({ containerPort }) => containerPort), 9_999] : PORTS_OUTSIDE
    const tcp = numbers.map((number): Port => ({ number }))
    return numbers.includes(53) ? [...tcp, { number: 53, protocol: 'UDP' }] : tcp
  }
  return [...everybody].flatMap(([from, source]) =>
    [...everybody].flatMap(([to, target]) =>
      from === to || !(ours.has(from) || ours.has(to))
        ? []
        : portsOf(target)
            .filter((port) => mayReach(network, source, target, port))
            .map(({ number, protocol }) => `${from} > ${to}:${number}${protocol === 'UDP' ? '/udp' : ''}`),
    ),
  )
}

const TENANT_PODS = ['adapter', 'runs-worker', 'manager', 'indexer', 'dashboard', 'linuxep']
const ANYBODY = [
  'dns',
  'prometheus',
  'other/adapter',
  'other/api',
  'other/indexer',
  'system/guest',
  ...OUTSIDE.keys(),
]
const dns = (pod: string): string[] => [`${pod} > dns:53`, `${pod} > dns:53/udp`]

/** Agents come from anywhere: the manager's two ports are the tenant's only door, shut for its own other pods. */
const agents = (slug: string, guests: readonly string[]): string[] =>
  guests.flatMap((guest) => [1_514, 1_515].map((port) => `${guest} > ${slug}/manager:${port}`))

const ofTenant = (slug: string, guests: readonly string[]): string[] => [
  ...TENANT_PODS.flatMap((component) => dns(`${slug}/${component}`)),
  `${slug}/adapter > system/api:8080`,
  `${slug}/adapter > ${slug}/indexer:9200`,
  `${slug}/runs-worker > system/api:8080`,
  `${slug}/runs-worker > llm:443`,
  `${slug}/manager > ${slug}/indexer:9200`,
  `${slug}/dashboard > ${slug}/indexer:9200`,
  `${slug}/dashboard > ${slug}/manager:55000`,
  `${slug}/linuxep > ${slug}/manager:1514`,
  `${slug}/linuxep > ${slug}/manager:1515`,
  ...agents(slug, guests),
]
/** With no source named for the API, anybody may ask it; who it is decides the API. */
const API_GUESTS = [...ANYBODY, 'system/test']
const ofSystem = (operators: readonly string[]): string[] => [
  ...['api', 'postgres', 'secrets', 'test'].flatMap((component) => dns(`system/${component}`)),
  'system/api > system/postgres:5432',
  'prometheus > system/api:9090',
  ...operators.flatMap((name) =>
    [...OUTSIDE.keys()].flatMap((to) => [`system/${name} > ${to}:443`, `system/${name} > ${to}:6443`]),
  ),
]
const sorted = (lines: readonly string[]): string[] => [...new Set(lines)].toSorted()

describe.each(PROFILE_NAMES)('with profile %s', (profile) => {
  const sides = [systemSide(valuesOf('minimal')), tenantSide('x', profile), tenantSide('y', profile)]

  it('the pods of both charts reach what they need, and nobody else anything', () => {
    expect(sides.flatMap(({ pods }) => [...pods.keys()]).toSorted()).toEqual(
      [
        ...['api', 'postgres', 'secrets', 'test'].map((component) => `system/${component}`),
        ...['x', 'y'].flatMap((slug) => TENANT_PODS.map((component) => `${slug}/${component}`)),
      ].toSorted(),
    )
    expect(sorted(matrix(sides))).toEqual(
      sorted([
        ...ofTenant('x', ANYBODY),
        ...ofTenant('y', ANYBODY),
        ...ofSystem(['api', 'secrets']),
        ...API_GUESTS.map((guest) => `${guest} > system/api:8080`),
      ]),
    )
  })
})

describe('between tenants', () => {
  const reaching = (lines: readonly string[]): string[] =>
    lines.filter((line) => /^x\/.* > y\/|^y\/.* > x\//.test(line))

  it('there is no way, whatever address a tenant gives its LLM', () => {
    const y = tenantSide('y', 'pilot')
    const system = systemSide(valuesOf('minimal'))
    const victim = y.pods.get('y/manager')?.ip ?? ''
    const hostile = [
      `http://${victim}:1514/v1`,
      `http://${victim}:1515`,
      'http://169.254.169.254/latest',
      'https://172.18.0.2:6443',
      'https://10.96.0.1/v1',
      'http://[fd00::7]:9200',
      'http://[::ffff:10.0.0.1]:80',
      'http://[fe80::1]/v1',
    ]
    for (const llm of hostile) {
      const lines = matrix([system, tenantSide('x', 'pilot', llm), y])
      expect(reaching(lines), llm).toEqual([])
      const outwards = lines.filter((line) => /^x\/runs-worker > (?!dns|system\/api:8080)/.test(line))
      // Only the range that the install has named, on whatever port.
      expect(
        outwards.filter((line) => !line.includes('> llm:')),
        llm,
      ).toEqual([])
    }
  })

  it('a public address that a tenant gives its LLM is open, on its port alone', () => {
    const x = tenantSide('x', 'pilot', 'https://198.51.100.9/v1')
    const lines = matrix([systemSide(valuesOf('minimal')), x])
    expect(lines.filter((line) => line.startsWith('x/runs-worker > internet'))).toEqual([
      'x/runs-worker > internet:443',
    ])
  })
})

describe('the system', () => {
  it('lets in, when sources are named, tenants’ adapters and workers, its own test and those sources', () => {
    const system = systemSide({ ...valuesOf('minimal'), networkPolicies: { apiNamespaces: ['monitoring'] } })
    const lines = matrix([system, tenantSide('x', 'pilot')])
    expect(lines.filter((line) => line.endsWith('> system/api:8080')).toSorted()).toEqual(
      ['prometheus', 'system/test', 'x/adapter', 'x/runs-worker'].map((from) => `${from} > system/api:8080`),
    )
  })

  it('with an operator of its own opens its metrics to Prometheus alone, and lets it reach the Kubernetes API', () => {
    const lines = matrix([systemSide(valuesOf('separate-operator'))])
    const operator = lines.filter((line) => line.includes('system/operator'))
    expect(sorted(operator)).toEqual(
      sorted([
        'prometheus > system/operator:9090',
        ...dns('system/operator'),
        ...[...OUTSIDE.keys()].flatMap((to) => [443, 6_443].map((port) => `system/operator > ${to}:${port}`)),
      ]),
    )
  })

  it('with ranges reaches the Kubernetes API and the database there alone', () => {
    const values = {
      ...valuesOf('external-db'),
      networkPolicies: { apiServerCidrs: ['172.18.0.2/32'], databaseCidrs: ['192.0.2.0/28'] },
    }
    const lines = matrix([systemSide(values)])
    expect(lines.filter((line) => line.startsWith('system/api > ') && !line.includes('dns'))).toEqual([
      'system/api > kube-apiserver:443',
      'system/api > kube-apiserver:6443',
    ])
  })
})
