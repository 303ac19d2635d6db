import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tenant } from '@service/crds'
import { RELEASE_NAME } from '@service/domain'
import { parse } from 'yaml'
import type { OperatorConfig } from '../config.ts'
import { valuesText } from '../desired/index.ts'
import { OPERATION_LABEL } from './release.ts'
import { runHelm } from './run.ts'

export type Chart = { readonly ref: string; readonly version: string }
export type HelmCall = {
  readonly namespace: string
  readonly signal: AbortSignal
  /** Called when helm runs. */
  readonly onStarted?: () => void
}

/** The only door to Helm. It never waits for workloads and runs no hooks at installation. */
export type HelmDriver = {
  /** The chart that this tenant wants; `version` is empty when it cannot be told beforehand. */
  chartOf(tenant: Tenant): Promise<Chart>
  /** Installs or upgrades. Fails with HelmError (error.ts). */
  upgrade(
    call: HelmCall & { readonly chart: Chart; readonly values: Readonly<Record<string, unknown>> },
  ): Promise<void>
  /** No release is success. With `hooks: false` a failing hook is of no account. */
  uninstall(call: HelmCall & { readonly hooks: boolean }): Promise<void>
  close(): void
}

/** `heldUntil`: until when the leader lease may be trusted, as a monotonic instant; helm runs no longer. */
export function createHelmDriver(
  config: Pick<OperatorConfig, 'helm' | 'kubeconfigPath'>,
  heldUntil: () => number,
): HelmDriver {
  // Helm's caches and whatever a user has configured for it stay out of this.
  const home = mkdtempSync(join(tmpdir(), 'service-helm-'))
  const kubeconfig = config.kubeconfigPath ?? inClusterKubeconfig(home, config.helm.env)
  const common = ['--kubeconfig', kubeconfig]
  const env = {
    ...config.helm.env,
    HOME: home,
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
  }
  const run = (args: readonly string[], call: HelmCall, input?: string): Promise<void> =>
    runHelm({
      command: config.helm.command,
      args: [...args, '--namespace', call.namespace, ...common],
      env,
      input: input ?? '',
      timeoutMs: config.helm.timeoutMs,
      signal: call.signal,
      onStarted: call.onStarted ?? (() => undefined),
      guard: config.helm.guard,
      heldUntil,
    })
  return {
    chartOf: async ({ spec }) => {
      if (spec.chart.ref !== '') return { ref: spec.chart.ref, version: spec.chart.version }
      return { ref: config.helm.chart, version: await versionOfFolder(config.helm.chart) }
    },
    upgrade: async (call) => {
      const version = isReference(call.chart.ref) && call.chart.version !== ''
      const args = ['upgrade', RELEASE_NAME, call.chart.ref, '--install', '--reset-values', '--values', '-']
      const rest = ['--no-hooks', '--history-max', '3', '--hide-notes', '--skip-crds']
      const operation = ['--labels', `${OPERATION_LABEL}=${crypto.randomUUID()}`]
      const pinned = version ? ['--version', call.chart.version] : []
      await run([...args, ...rest, ...operation, ...pinned], call, valuesText(call.values))
    },
    uninstall: (call) =>
      run(['uninstall', RELEASE_NAME, '--ignore-not-found', ...(call.hooks ? [] : ['--no-hooks'])], call),
    close: () => rmSync(home, { recursive: true, force: true }),
  }
}

const isReference = (ref: string): boolean => /^(oci|https?):\/\//.test(ref)

async function versionOfFolder(chart: string): Promise<string> {
  if (isReference(chart)) return ''
  const text = await readFile(join(chart, 'Chart.yaml'), 'utf8').catch(() => '')
  const file = parsed(text)
  const version = typeof file === 'object' && file !== null && 'version' in file ? file.version : ''
  return typeof version === 'string' ? version : ''
}

/** A chart that cannot be read is for helm to refuse. */
function parsed(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return null
  }
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Inside a pod helm would look for a kubeconfig first: it gets one that names the service account's files. */
function inClusterKubeconfig(home: string, env: Readonly<Record<string, string>>): string {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? ''
  const address = host.includes(':') ? `[${host}]` : host
  const server = `https://${address}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`
  const cluster = { server, 'certificate-authority': `${SERVICE_ACCOUNT}/ca.crt` }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'pod',
    contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod' } }],
    clusters: [{ name: 'pod', cluster }],
    users: [{ name: 'pod', user: { tokenFile: `${SERVICE_ACCOUNT}/token` } }],
  }
  const path = join(home, 'kubeconfig')
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  return path
}
