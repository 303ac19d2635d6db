import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { INSTALL_NAMESPACE, parseFailpoint } from '@service/domain'
import type { ArmedFailpoint } from '@service/domain'
import type { LeaseTimes } from './lease.ts'

/** What an install decides about the endpoint-security stack of all its tenants. */
export type WazuhPlatform = {
  /** Off, tenants get an adapter alone, which reads an indexer elsewhere. */
  readonly enabled: boolean
  /** Whether the indexer's pod may change its node; its namespace then admits privileged pods. */
  readonly sysctlInit: boolean
}

/** What an install says about the network of all its tenants. */
export type NetworkPlatform = {
  /** Where the API's pods are. */
  readonly apiNamespace: string
  /** Empty for no rule. */
  readonly dnsNamespace: string
  /** Ranges of what is reached by a host name, which policies do not know. */
  readonly llmCidrs: readonly string[]
  readonly indexerCidrs: readonly string[]
}

export type OperatorConfig = {
  /** `null`: the service account of the pod. */
  readonly kubeconfigPath: string | null
  readonly installNamespace: string
  /** How it lets itself into tenants' namespaces; `null` where it may do everything anyway. */
  readonly access: {
    /** ClusterRole. */
    readonly role: string
    readonly account: { readonly name: string; readonly namespace: string }
  } | null
  readonly helm: {
    readonly command: string
    /** Folder, archive or OCI reference of the tenant chart; used when a Tenant names none. */
    readonly chart: string
    /** All that helm gets of the environment: the search path, proxies, trusted authorities, the cluster's address. */
    readonly env: Readonly<Record<string, string>>
    readonly timeoutMs: number
    /** Program under which helm runs (helm/guard.ts). */
    readonly guard: string
  }
  readonly adapter: {
    readonly apiUrl: string
    /** With `{slug}` and `{namespace}`. */
    readonly indexerUrl: string
    readonly heartbeatSeconds: number
    readonly pollSeconds: number
  }
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly wazuh: WazuhPlatform
  readonly network: NetworkPlatform
  readonly concurrency: number
  readonly lease: LeaseTimes
  readonly resyncMs: number
  /** For development: from `provisioning` to `degraded` in place of the profile's time. */
  readonly readinessTimeoutMs: number | undefined
  /** Of health and metrics, for an operator in a pod of its own; `null`: it answers nobody. */
  readonly healthPort: number | null
  /** Name of this process as a leader. */
  readonly identity: string
  /** For drills: the moment at which this process is to be killed. */
  readonly failpoint: ArmedFailpoint | null
}

export type Env = Readonly<Record<string, string | undefined>>

const CHART = fileURLToPath(new URL('../../charts/service-tenant', import.meta.url))
const GUARD = fileURLToPath(new URL('helm/guard.ts', import.meta.url))
const HELM_ENV = [
  'PATH',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
]

export const SETTINGS = {
  SERVICE_KUBECONFIG: 'kubeconfig file; without it the service account of the pod',
  SERVICE_INSTALL_NAMESPACE: `namespace of the install (default ${INSTALL_NAMESPACE})`,
  SERVICE_TENANT_ROLE:
    'ClusterRole that the operator binds its account to in each tenant’s namespace; without it none is bound',
  SERVICE_OPERATOR_ACCOUNT:
    'service account of the operator in the install namespace; needed with SERVICE_TENANT_ROLE',
  SERVICE_HELM: 'helm 4 (default helm)',
  SERVICE_HELM_GUARD: 'program under which helm runs (default: the one beside the operator)',
  SERVICE_TENANT_CHART:
    'folder, archive or reference of the tenant chart (default: the one beside the operator)',
  SERVICE_ADAPTER_API_URL:
    'address of the API as adapters see it (default http://service-system-api.<install namespace>.svc:8080)',
  SERVICE_ADAPTER_INDEXER_URL:
    'address of a tenant’s indexer, with {slug} and {namespace} (default https://wazuh-indexer.{namespace}.svc:9200)',
  SERVICE_ADAPTER_HEARTBEAT_SECONDS: 'seconds between heartbeats (1 to 120, default 30)',
  SERVICE_ADAPTER_POLL_SECONDS: 'seconds between looks at the indexer (1 to 300, default 5)',
  SERVICE_TENANT_NODE_SELECTOR: 'node labels for tenant pods: k=v,k=v',
  SERVICE_TENANT_WAZUH: 'whether tenants get manager, indexer and dashboard: true or false (default true)',
  SERVICE_TENANT_SYSCTL_INIT:
    'whether indexers raise vm.max_map_count of their node, which needs privileged namespaces: true or false (default false)',
  SERVICE_TENANT_DNS_NAMESPACE: 'namespace of the cluster DNS, none for no rule (default kube-system)',
  SERVICE_TENANT_LLM_CIDRS: 'ranges, separated by commas, that runs workers find LLMs in (default none)',
  SERVICE_TENANT_INDEXER_CIDRS:
    'ranges, separated by commas, of indexers outside of tenants’ namespaces (default none)',
  SERVICE_OPERATOR_PORT:
    'port of health and metrics of an operator that runs alone (1 to 65535, default none)',
  SERVICE_OPERATOR_CONCURRENCY: 'tenants worked on at once (1 to 100, default 10)',
  SERVICE_OPERATOR_LEASE_SECONDS: 'duration of the leader lease (3 to 300, default 15)',
  SERVICE_OPERATOR_RESYNC_SECONDS:
    'seconds after which a settled tenant is looked at again (10 to 86400, default 600)',
  SERVICE_OPERATOR_READINESS_SECONDS:
    'for development, never in production: seconds until an unready tenant is degraded, whatever its profile says (10 to 86400)',
  SERVICE_FAILPOINT: 'for drills, never in production: <name>[:<nth hit>], the moment at which to be killed',
} as const
type Setting = keyof typeof SETTINGS

/** A setting that cannot be used: the message names it and the form it wants, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Fails with ConfigError that lists everything that is wrong. */
export function parseOperatorConfig(env: Env): OperatorConfig {
  const problems: string[] = []
  const read = reader(env, problems)
  const installNamespace = read.text('SERVICE_INSTALL_NAMESPACE', INSTALL_NAMESPACE)
  const leaseMs = read.number('SERVICE_OPERATOR_LEASE_SECONDS', 15, 3, 300) * 1_000
  const config: OperatorConfig = {
    kubeconfigPath: read.text('SERVICE_KUBECONFIG', '') || null,
    installNamespace,
    access: read.access(installNamespace),
    helm: {
      command: read.text('SERVICE_HELM', 'helm'),
      chart: read.text('SERVICE_TENANT_CHART', CHART),
      env: picked(env, HELM_ENV),
      timeoutMs: 180_000,
      guard: read.text('SERVICE_HELM_GUARD', GUARD),
    },
    adapter: {
      apiUrl: read.url('SERVICE_ADAPTER_API_URL', `http://service-system-api.${installNamespace}.svc:8080`),
      indexerUrl: read.url('SERVICE_ADAPTER_INDEXER_URL', 'https://wazuh-indexer.{namespace}.svc:9200'),
      heartbeatSeconds: read.number('SERVICE_ADAPTER_HEARTBEAT_SECONDS', 30, 1, 120),
      pollSeconds: read.number('SERVICE_ADAPTER_POLL_SECONDS', 5, 1, 300),
    },
    nodeSelector: read.pairs('SERVICE_TENANT_NODE_SELECTOR'),
    wazuh: {
      enabled: read.flag('SERVICE_TENANT_WAZUH', true),
      sysctlInit: read.flag('SERVICE_TENANT_SYSCTL_INIT', false),
    },
    network: {
      apiNamespace: installNamespace,
      dnsNamespace: read.text('SERVICE_TENANT_DNS_NAMESPACE', 'kube-system').replace(/^none$/, ''),
      llmCidrs: read.ranges('SERVICE_TENANT_LLM_CIDRS'),
      indexerCidrs: read.ranges('SERVICE_TENANT_INDEXER_CIDRS'),
    },
    concurrency: read.number('SERVICE_OPERATOR_CONCURRENCY', 10, 1, 100),
    lease: { durationMs: leaseMs, trustMs: (leaseMs * 10) / 15, retryMs: (leaseMs * 2) / 15 },
    resyncMs: read.number('SERVICE_OPERATOR_RESYNC_SECONDS', 600, 10, 86_400) * 1_000,
    readinessTimeoutMs: read.developmentSeconds('SERVICE_OPERATOR_READINESS_SECONDS', 10, 86_400),
    healthPort:
      read.text('SERVICE_OPERATOR_PORT', '') === ''
        ? null
        : read.number('SERVICE_OPERATOR_PORT', 0, 1, 65_535),
    identity: `${hostname()}_${crypto.randomUUID()}`,
    failpoint: read.failpoint('SERVICE_FAILPOINT'),
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return config
}

export const readOperatorConfig = (): OperatorConfig => parseOperatorConfig(process.env)

/**
 * The shell's base class reads whatever kubeconfig lies around when it is built, and fails when it is broken. It is not
 * ours to use: it is out of sight for as long as that takes.
 */
export function withoutForeignKubeconfig<T>(build: () => T): T {
  const hidden = ['KUBECONFIG', 'HOME'].map((name) => [name, process.env[name]] as const)
  for (const [name] of hidden) delete process.env[name]
  try {
    return build()
  } finally {
    for (const [name, value] of hidden) if (value !== undefined) process.env[name] = value
  }
}

function reader(env: Env, problems: string[]) {
  const wrong = (name: Setting): void => void problems.push(`${name} is not usable: ${SETTINGS[name]}`)
  const text = (name: Setting, standard: string): string => env[name]?.trim() || standard
  const number = (name: Setting, standard: number, min: number, max: number): number => {
    const value = Number(text(name, String(standard)))
    if (!Number.isInteger(value) || value < min || value > max) wrong(name)
    return value
  }
  return {
    text,
    url: (name: Setting, standard: string): string => {
      const value = text(name, standard)
      const sample = value.replaceAll('{slug}', 'a').replaceAll('{namespace}', 'a')
      if (!/^https?:$/.test(URL.parse(sample)?.protocol ?? '')) wrong(name)
      return value
    },
    number,
    developmentSeconds: (name: Setting, min: number, max: number): number | undefined => {
      if (text(name, '') === '') return undefined
      if (env['NODE_ENV'] === 'production') wrong(name)
      return number(name, min, min, max) * 1_000
    },
    flag: (name: Setting, standard: boolean): boolean => {
      const value = text(name, String(standard))
      if (value !== 'true' && value !== 'false') wrong(name)
      return value === 'true'
    },
    failpoint: (name: Setting): ArmedFailpoint | null => {
      const value = text(name, '')
      if (value === '') return null
      const armed = parseFailpoint(value)
      if (armed === undefined || env['NODE_ENV'] === 'production') wrong(name)
      return armed ?? null
    },
    access: (namespace: string): OperatorConfig['access'] => {
      const role = text('SERVICE_TENANT_ROLE', '')
      const name = text('SERVICE_OPERATOR_ACCOUNT', '')
      if (role === '') return null
      if (name === '') wrong('SERVICE_OPERATOR_ACCOUNT')
      return { role, account: { name, namespace } }
    },
    ranges: (name: Setting): string[] => {
      const ranges = text(name, '')
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
      if (!ranges.every(isRange)) wrong(name)
      return ranges
    },
    pairs: (name: Setting): Record<string, string> => {
      const parts = text(name, '')
        .split(',')
        .filter((part) => part.trim() !== '')
      const pairs = parts.map((part) => /^\s*([\w./-]+)=([\w.-]*)\s*$/.exec(part))
      if (pairs.includes(null)) wrong(name)
      return Object.fromEntries(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1], pair[2]]])))
    },
  }
}

function isRange(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest
}

function picked(env: Env, names: readonly string[]): Record<string, string> {
  const found = names.flatMap((name) => {
    const value = env[name] ?? env[name.toLowerCase()]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}
