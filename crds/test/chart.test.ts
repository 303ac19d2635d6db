import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INDEXER_USERS, TENANT_SECRETS, WAZUH_SERVICES } from '@service/domain'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { TenantValues } from '../src/index.ts'
import {
  CHART,
  ciValues,
  componentOf,
  deploymentsOf,
  manifests,
  render,
  runHelm,
  workloadsOf,
} from './helm.ts'
import type { Deployment, Manifest, Values } from './helm.ts'

const minimal = ciValues.find(([file]) => file.startsWith('minimal'))?.[1] ?? {}
const withAdapter = (part: object): Values => ({
  ...minimal,
  adapter: { ...(minimal.adapter as object), ...part },
})
const adapterOf = (values: Values): Deployment => {
  return deploymentOf(values, 'adapter')
}
const deploymentOf = (values: Values, component: string, chart?: string): Deployment => {
  const found = deploymentsOf(manifests(values, chart)).find(
    ({ spec }) => spec.selector.matchLabels['app.kubernetes.io/component'] === component,
  )
  if (found === undefined) throw new Error(`no ${component}`)
  return found
}
const policy = (values: Values, suffix: string): Manifest | undefined =>
  manifests(values).find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith(suffix))
const environment = (adapter: Deployment): Record<string, string | undefined> =>
  Object.fromEntries(
    adapter.spec.template.spec.containers.flatMap(({ env = [] }) =>
      env.map(({ name, value, valueFrom }) => {
        const { fieldRef, secretKeyRef } = valueFrom ?? {}
        const reference = secretKeyRef === undefined ? undefined : `${secretKeyRef.name} ${secretKeyRef.key}`
        return [name, value ?? fieldRef?.fieldPath ?? reference]
      }),
    ),
  )

/** Components whose images are ours. */
const OWN = ['adapter', 'runs-worker', 'linuxep']

describe.each(ciValues)('the chart with %s', (file, values) => {
  it('is linted, fits the schema in code, and renders the same each time', () => {
    const lint = runHelm(['lint', '--strict', CHART, '--values', join(CHART, 'ci', file)])
    expect(lint.status, lint.stdout + lint.stderr).toBe(0)
    expect(v.safeParse(TenantValues, values).issues).toBeUndefined()
    expect(render(values)).toEqual(render(values))
    expect(render(values).error).toBe('')
  })

  it('makes namespaced objects with labels, and neither namespace nor secret nor role', () => {
    const all = manifests(values)
    const kinds = new Set(all.map(({ kind }) => kind))
    const always = ['Deployment', 'LimitRange', 'ResourceQuota', 'ServiceAccount']
    const policies = file.startsWith('open-network') ? [] : ['NetworkPolicy']
    const stack = file.startsWith('local') ? [] : ['ConfigMap', 'Service', 'StatefulSet']
    expect([...kinds].toSorted()).toEqual([...always, ...policies, ...stack].toSorted())
    for (const { kind, metadata, automountServiceAccountToken } of all) {
      expect(metadata.namespace).toBe('tenant-acme')
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/instance': 'service-tenant',
        'app.kubernetes.io/part-of': 'service',
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/component': expect.stringMatching(/^[a-z-]+$/),
        'app.kubernetes.io/name': expect.any(String),
        'app.kubernetes.io/version': '0.1.0',
        'helm.sh/chart': 'service-tenant-0.1.0',
      })
      if (kind === 'ServiceAccount') expect(automountServiceAccountToken).toBe(false)
    }
  })

  it('runs our pods restricted, with resources, unique names and secrets as whole volumes', () => {
    for (const workload of workloadsOf(manifests(values))) {
      if (!OWN.includes(componentOf(workload))) continue
      const pod = workload.spec.template.spec
      expect(pod.automountServiceAccountToken).toBe(false)
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number),
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const container of pod.containers) {
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        for (const amounts of [container.resources.requests, container.resources.limits])
          expect(Object.keys(amounts).toSorted()).toEqual(['cpu', 'memory'])
        const { env = [], volumeMounts = [] } = container
        const names = env.map(({ name }) => name)
        expect(new Set(names).size).toBe(names.length)
        // The LLM key alone comes by the environment (S "Secret placement" 3).
        const sources = env.flatMap(({ name, valueFrom }) =>
          valueFrom?.secretKeyRef === undefined ? [] : [[name, valueFrom.secretKeyRef.name]],
        )
        expect(sources).toEqual(container.name === 'runs-worker' ? [['LLM_API_KEY', 'tenant-llm-key']] : [])
        expect(volumeMounts.filter(({ subPath }) => subPath !== undefined)).toEqual([])
        const claims = (workload.spec.volumeClaimTemplates ?? []).length === 0 ? [] : ['data']
        const volumes = [...claims, ...pod.volumes.map(({ name }) => name)].toSorted()
        expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes)
        for (const [probe, path] of [
          ['startupProbe', '/health/live'],
          ['livenessProbe', '/health/live'],
          ['readinessProbe', '/health/ready'],
        ] as const)
          expect(container[probe]?.httpGet).toEqual({ path, port: 'health' })
      }
    }
  })
})

describe('the adapter', () => {
  it('finds its token, the indexer user and the addresses in its environment', () => {
    expect(environment(adapterOf(minimal))).toEqual({
      TENANT_ID: '0198b5a0-0000-7000-8000-000000000001',
      TENANT_SLUG: 'acme',
      API_URL: 'http://service-system-api.service-system:80',
      INDEXER_URL: 'https://wazuh-indexer:9200',
      ADAPTER_TOKEN_FILE: '/var/run/service/adapter/token',
      INDEXER_USERNAME_FILE: '/var/run/service/indexer/username',
      INDEXER_PASSWORD_FILE: '/var/run/service/indexer/password',
      INDEXER_CA_FILE: '/var/run/service/indexer-ca/ca.crt',
      NODE_OPTIONS: '--max-old-space-size=96',
      HEARTBEAT_SECONDS: '30',
      POLL_SECONDS: '5',
      BIND_ADDRESS: 'status.podIP',
      PORT: '8080',
    })
  })

  it('mounts exactly the files that its environment names', () => {
    for (const [, values] of ciValues) {
      const adapter = adapterOf(values)
      const { containers, volumes } = adapter.spec.template.spec
      const files = volumes.flatMap(({ name, secret }) => {
        const mount = containers[0]?.volumeMounts?.find((each) => each.name === name)
        return (secret?.items ?? []).map(({ path }) => `${mount?.mountPath}/${path}`)
      })
      const named = Object.entries(environment(adapter)).filter(([name]) => name.endsWith('_FILE'))
      expect(files.toSorted()).toEqual(named.map(([, path]) => String(path)).toSorted())
    }
  })

  it('takes credentials and authorities from the Secrets that the values name', () => {
    const { volumes } = adapterOf(ciValues.find(([file]) => file.startsWith('full'))?.[1] ?? {}).spec.template
      .spec
    expect(volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret]))).toMatchObject([
      { secretName: 'adapter-token', items: [{ key: 'token', path: 'token' }] },
      {
        secretName: 'reader',
        optional: true,
        items: [
          { key: 'user', path: 'username' },
          { key: 'pass', path: 'password' },
        ],
      },
      { secretName: 'api-ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
      { secretName: 'indexer-ca', items: [{ key: 'root.pem', path: 'ca.crt' }] },
    ])
  })

  const digest = `sha256:${'ab'.repeat(32)}`
  it.each([
    [{}, 'service/adapter:0.1.0'],
    [{ repository: 'r.example/a', tag: '7' }, 'r.example/a:7'],
    [{ tag: '', digest }, `service/adapter@${digest}`],
    [{ tag: '7', digest }, `service/adapter:7@${digest}`],
  ])('runs the image %o', (image, wanted) => {
    const { containers } = adapterOf(withAdapter({ image })).spec.template.spec
    expect(containers.map((container) => container.image)).toEqual([wanted])
  })

  it('has no image without tag and digest', () => {
    expect(render(withAdapter({ image: { tag: '' } })).error).toContain(
      'adapter.image needs a tag or a digest',
    )
  })

  it('is one at a time', () => {
    expect(adapterOf(minimal).spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  })

  it('is not restarted by a new version of the chart, and can be upgraded to it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'service-chart-'))
    try {
      cpSync(CHART, folder, { recursive: true })
      const file = join(folder, 'Chart.yaml')
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('0.1.0', '0.2.0'))
      for (const component of ['adapter', 'runs-worker']) {
        const newer = deploymentOf(minimal, component, folder)
        expect(newer.metadata.labels['helm.sh/chart']).toBe('service-tenant-0.2.0')
        expect(newer.spec).toEqual(deploymentOf(minimal, component).spec)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('the runs worker', () => {
  const workerOf = (values: Values) => deploymentOf(values, 'runs-worker')
  const full = ciValues.find(([file]) => file.startsWith('full'))?.[1] ?? {}

  it('finds its token, its key by reference and its bounds in its environment', () => {
    expect(environment(workerOf(full))).toEqual({
      TENANT_ID: '0198b5a0-0000-7000-8000-000000000001',
      TENANT_SLUG: 'acme-europe-2',
      API_URL: 'https://api.example/base',
      RUNS_WORKER_TOKEN_FILE: '/var/run/service/runs-worker/token',
      API_CA_FILE: '/var/run/service/api-ca/ca.crt',
      LLM_API_KEY: 'tenant-llm-key api_key',
      CONCURRENCY: '4',
      DRAIN_SECONDS: '120',
      WORKER_ID: 'metadata.name',
      NODE_OPTIONS: '--max-old-space-size=256',
      BIND_ADDRESS: 'status.podIP',
      PORT: '8080',
    })
  })

  it('has more time to end than its runs have', () => {
    for (const drainSeconds of [0, 60, 3_600]) {
      const { spec } = workerOf({ ...minimal, runsWorker: { drainSeconds } }).spec.template
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds)
    }
  })

  it('starts anew with another version of the key, and only it', () => {
    const before = { ...minimal, llm: { keyVersion: '1' } }
    const after = { ...minimal, llm: { keyVersion: '7' } }
    expect(workerOf(after).spec.template).not.toEqual(workerOf(before).spec.template)
    expect(workerOf(minimal).spec.template).toEqual(workerOf(before).spec.template)
    expect(adapterOf(after).spec).toEqual(adapterOf(before).spec)
  })

  it('reaches the API and the LLM of its tenant, and nothing else', () => {
    const egress = (values: Values) => policy(values, '-runs-worker')?.spec.egress
    const api = {
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'service-system' } },
          podSelector: { matchLabels: { 'app.kubernetes.io/component': 'api' } },
        },
      ],
    }
    expect(egress(minimal)).toEqual([api])
    const literal = { ...minimal, llm: { baseUrl: 'http://192.0.2.9:8000/v1' } }
    const range = (cidr: string, port: number) => ({
      to: [{ ipBlock: { cidr } }],
      ports: [{ protocol: 'TCP', port }],
    })
    expect(egress(literal)).toEqual([api, range('192.0.2.9/32', 8_000)])
    const named = {
      llm: { baseUrl: 'https://llm.example/v1' },
      networkPolicies: { llmCidrs: ['192.0.2.0/28'] },
    }
    expect(egress({ ...minimal, ...named })).toEqual([api, range('192.0.2.0/28', 443)])
    const nothing = { ...minimal, networkPolicies: { apiNamespace: '' } }
    expect(policy(nothing, '-runs-worker')?.spec).toMatchObject({ policyTypes: ['Egress'] })
    expect(egress(nothing)).toBeUndefined()
  })
})

describe('the network policies', () => {
  const local = ciValues.find(([file]) => file.startsWith('local'))?.[1] ?? {}
  const byDigest = ciValues.find(([file]) => file.startsWith('digest'))?.[1] ?? {}
  const full = ciValues.find(([file]) => file.startsWith('full'))?.[1] ?? {}
  const ranges = (values: Values) =>
    (
      (policy(values, '-adapter')?.spec.egress ?? []) as {
        to: { ipBlock?: { cidr: string } }[]
        ports?: { port: number }[]
      }[]
    ).flatMap(({ to, ports }) =>
      to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [`${ipBlock.cidr} ${ports?.[0]?.port}`])),
    )

  it('deny everything first', () => {
    expect(policy(minimal, '-default-deny')?.spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
  })

  it('let the adapter reach the indexer, the API and the DNS, and nothing else', () => {
    expect(policy(minimal, '-adapter')?.spec).toEqual({
      podSelector: { matchLabels: adapterOf(minimal).spec.selector.matchLabels },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'indexer' } } }],
          ports: [{ protocol: 'TCP', port: 9200 }],
        },
        {
          to: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'service-system' } },
              podSelector: { matchLabels: { 'app.kubernetes.io/component': 'api' } },
            },
          ],
        },
      ],
    })
    expect(policy(minimal, '-allow-dns')?.spec).toMatchObject({ podSelector: {}, policyTypes: ['Egress'] })
  })

  it('open the way to address literals, with their ports', () => {
    expect(ranges(local)).toEqual(['127.0.0.1/32 19200', '127.0.0.1/32 18080'])
    expect(ranges(byDigest)).toEqual(['192.0.2.7/32 443', '2001:db8::1/128 8080'])
    expect(ranges(minimal)).toEqual([])
  })

  it('open the way to the ranges that the values name', () => {
    expect(ranges(full)).toEqual(['192.0.2.10/32 9443', '198.51.100.0/28 443'])
  })

  it('leave out what the values switch off', () => {
    expect(policy(byDigest, '-allow-dns')).toBeUndefined()
    expect(policy({ ...minimal, networkPolicies: { enabled: false } }, '')).toBeUndefined()
  })
})

describe('the values', () => {
  it('without a word from anybody are those of the schema in code', () => {
    const {
      tenant: _,
      adapter,
      ...defaults
    } = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Values
    const { apiUrl: _api, indexerUrl: _indexer, ...adapterDefaults } = adapter as Record<string, unknown>
    const wanted = v.parse(TenantValues, minimal)
    expect({
      ...defaults,
      tenant: minimal.tenant,
      adapter: { ...adapterDefaults, ...(minimal.adapter as object) },
    }).toEqual(wanted)
  })

  const tenantPart = (part: object): Values => ({
    ...minimal,
    tenant: { ...(minimal.tenant as object), ...part },
  })
  it.each<[string, Values]>([
    ['an unknown key', { ...minimal, apiKey: 'x' }],
    ['an unknown key of the tenant', tenantPart({ email: 'x' })],
    ['an unknown key deep inside', { ...minimal, components: { wazuh: { manager: { password: 'x' } } } }],
    ['a raw token', withAdapter({ token: 'x' })],
    ['a raw key of the LLM', { ...minimal, llm: { apiKey: 'x' } }],
    ['no tenant', { adapter: minimal.adapter }],
    ['no address of the API', withAdapter({ apiUrl: '' })],
    ['an address with credentials', withAdapter({ apiUrl: 'https://me:hush@api.example' })],
    [
      'credentials in the address of the LLM',
      { ...minimal, llm: { baseUrl: 'https://me:hush@llm.example' } },
    ],
    ['an address with a query', withAdapter({ indexerUrl: 'https://indexer.example?key=hush' })],
    ['a slug that is none', tenantPart({ slug: 'Acme' })],
    ['an id that is none', tenantPart({ id: '1' })],
    ['a name that is too long', tenantPart({ displayName: '🛡'.repeat(256) })],
    ['a quantity that is none', { ...minimal, resourceQuota: { requests: { cpu: 'much' } } }],
    ['no heartbeat', withAdapter({ heartbeatSeconds: 0 })],
    ['a heartbeat beyond what counts as alive', withAdapter({ heartbeatSeconds: 121 })],
    ['half seconds', withAdapter({ pollSeconds: 0.5 })],
    ['a text for a number', withAdapter({ pollSeconds: '5' })],
    ['a Secret that cannot be named so', withAdapter({ tokenSecretRef: { name: 'eyJhbGciOi.J9_x' } })],
    ['no Secret for the token', withAdapter({ tokenSecretRef: { name: '' } })],
    ['an image with spaces', withAdapter({ image: { repository: 'a b' } })],
    ['a digest that is none', withAdapter({ image: { digest: 'sha256:12' } })],
    ['a part that does not exist yet', { ...minimal, components: { misp: { enabled: true } } }],
    ['an unknown way of agents', { ...minimal, wazuhIngress: { mode: 'pigeon' } }],
    ['root', { ...minimal, podSecurity: { runAsUser: 0 } }],
    ['a range that is none', { ...minimal, networkPolicies: { apiCidrs: ['everywhere'] } }],
  ])('with %s are refused by Helm and by the schema in code', (_, values) => {
    expect(v.safeParse(TenantValues, values).success).toBe(false)
    expect(render(values).error).toMatch(/values don't meet the specifications of the schema/)
  })
})

describe('the Wazuh stack', () => {
  const stack = manifests(minimal)
  const find = (kind: string, name: string): Manifest => {
    const found = stack.find((each) => each.kind === kind && each.metadata.name === name)
    if (found === undefined) throw new Error(`no ${kind} ${name}`)
    return found
  }
  const podOf = (name: string) => {
    const found = workloadsOf(stack).find(({ metadata }) => metadata.name === name)
    if (found === undefined) throw new Error(`no workload ${name}`)
    return found.spec.template.spec
  }
  const secretsOf = (name: string): string[] => {
    const { containers, volumes } = podOf(name)
    const mounted = volumes.flatMap(({ secret, projected }) => [
      ...(secret === undefined ? [] : [secret.secretName]),
      ...(projected?.sources.map((source) => source.secret.name) ?? []),
    ])
    const named = containers.flatMap(({ env = [] }) =>
      env.flatMap(({ valueFrom }) =>
        valueFrom?.secretKeyRef === undefined ? [] : [valueFrom.secretKeyRef.name],
      ),
    )
    return [...new Set([...mounted, ...named])].toSorted()
  }

  it('takes each secret only where it is needed, by reference', () => {
    expect(secretsOf('wazuh-manager')).toEqual([
      'wazuh-authd-secret',
      'wazuh-credentials',
      'wazuh-manager-tls',
    ])
    expect(secretsOf('wazuh-indexer')).toEqual([
      'wazuh-admin-tls',
      'wazuh-indexer-tls',
      'wazuh-indexer-users',
    ])
    expect(secretsOf('wazuh-dashboard')).toEqual(['wazuh-credentials', 'wazuh-dashboard-tls'])
    const known = Object.values(TENANT_SECRETS).map(({ name }) => name)
    for (const name of ['wazuh-manager', 'wazuh-indexer', 'wazuh-dashboard'])
      expect(known).toEqual(expect.arrayContaining(secretsOf(name)))
  })

  it('has one exception from restricted, the manager, and within baseline', () => {
    const context = (name: string) => podOf(name).containers.map(({ securityContext }) => securityContext)
    const restricted = {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    }
    expect(context('wazuh-indexer')).toMatchObject([restricted])
    expect(context('wazuh-dashboard')).toMatchObject([restricted])
    expect(context('wazuh-manager')).toEqual([
      {
        allowPrivilegeEscalation: false,
        privileged: false,
        runAsUser: 0,
        capabilities: {
          drop: ['ALL'],
          add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SYS_CHROOT'],
        },
      },
    ])
    expect(podOf('wazuh-indexer').initContainers).toBeUndefined()
  })

  it('opens the indexer to manager, dashboard and adapter, and to nobody else', () => {
    const { ingress, egress } = find('NetworkPolicy', 'service-tenant-indexer').spec as unknown as {
      ingress: { from: { podSelector: { matchLabels: Record<string, string> } }[]; ports: object[] }[]
      egress: object[]
    }
    const from = ingress.flatMap((rule) => rule.from.map(({ podSelector }) => podSelector.matchLabels))
    expect(from.map((labels) => labels['app.kubernetes.io/component'])).toEqual([
      'manager',
      'adapter',
      'dashboard',
    ])
    expect(ingress.flatMap(({ ports }) => ports)).toEqual([{ protocol: 'TCP', port: 9200 }])
    expect(egress).toEqual([])
  })

  it('tells manager and indexer the same names, which the certificates carry', () => {
    expect(find('Service', WAZUH_SERVICES.indexer).spec).toMatchObject({ ports: [{ port: 9200 }] })
    expect(find('Service', WAZUH_SERVICES.manager)).toBeDefined()
    expect(find('Service', WAZUH_SERVICES.dashboard)).toBeDefined()
    const { data } = find('ConfigMap', 'wazuh-indexer') as Manifest & { data: Record<string, string> }
    const config = parse(data['opensearch.yml'] ?? '') as Record<string, unknown>
    expect(config).toMatchObject({
      'plugins.security.authcz.admin_dn': ['CN=admin'],
      'plugins.security.nodes_dn': ['CN=indexer'],
      'node.store.allow_mmap': false,
    })
    const mapping = parse(data['roles_mapping.yml'] ?? '') as Record<string, { users?: string[] }>
    expect(mapping['alert_reader']?.users).toEqual([INDEXER_USERS.adapter])
    const { cluster_permissions, index_permissions } = (
      parse(data['roles.yml'] ?? '') as Record<
        string,
        { cluster_permissions: string[]; index_permissions: object[] }
      >
    )['alert_reader'] ?? { cluster_permissions: [], index_permissions: [] }
    expect(JSON.stringify([cluster_permissions, index_permissions])).not.toMatch(
      /write|manage|crud|_all|"index"|"delete"|"\*"/,
    )
  })

  it('starts anew the part whose secrets have changed, and no other', () => {
    const values = { ...minimal, components: { linuxep: { enabled: true } } }
    const templates = (secretChecksums: Values) =>
      new Map(
        workloadsOf(manifests({ ...values, secretChecksums })).map((each) => [
          componentOf(each),
          JSON.stringify(each.spec.template),
        ]),
      )
    const before = templates({})
    for (const part of ['manager', 'indexer', 'dashboard', 'linuxep']) {
      const after = templates({ [part]: 'ab'.repeat(32) })
      expect([...after].filter(([name, text]) => before.get(name) !== text).map(([name]) => name)).toEqual([
        part,
      ])
    }
  })

  const agents = (name: string, more: readonly string[] = []) => {
    const values = ciValues.find(([file]) => file.startsWith(name))?.[1] ?? {}
    return manifests(values, CHART, more).find(({ metadata }) => metadata.name === 'wazuh-agents')
  }
  it('lets agents in through a load balancer, or through the ports of the edge', () => {
    expect(agents('minimal')?.spec).toMatchObject({
      type: 'LoadBalancer',
      ports: [{ port: 1514 }, { port: 1515 }],
    })
    const small = agents('small') as Manifest & { metadata: { annotations: object } }
    expect(small.metadata.annotations).toEqual({
      'example.org/load-balancer': 'internal',
      'external-dns.alpha.kubernetes.io/hostname': 'agents.acme.example',
    })
    expect(small.spec).toMatchObject({ loadBalancerSourceRanges: ['198.51.100.0/24'] })
    expect(agents('full')?.spec).toMatchObject({
      type: 'ClusterIP',
      ports: [
        { name: 'events', port: 31514, targetPort: 'events' },
        { name: 'enrollment', port: 31515, targetPort: 'enrollment' },
      ],
    })
    expect(agents('edge')?.spec).toMatchObject({ type: 'ClusterIP', ports: [{ port: 1514 }, { port: 1515 }] })
  })

  it('asks cert-manager for a certificate only where there is one', () => {
    const full = ciValues.find(([file]) => file.startsWith('full'))?.[1] ?? {}
    const kinds = (more: readonly string[]) => manifests(full, CHART, more).map(({ kind }) => kind)
    expect(kinds([])).not.toContain('Certificate')
    expect(kinds(['--api-versions', 'cert-manager.io/v1'])).toContain('Certificate')
  })

  it('is absent when it is switched off, and the endpoint agent is refused without it', () => {
    const off = { ...minimal, components: { wazuh: { enabled: false } } }
    expect(workloadsOf(manifests(off)).map(componentOf).toSorted()).toEqual(['adapter', 'runs-worker'])
    const alone = { ...minimal, components: { wazuh: { enabled: false }, linuxep: { enabled: true } } }
    expect(render(alone).error).toContain('components.linuxep needs components.wazuh')
  })
})
