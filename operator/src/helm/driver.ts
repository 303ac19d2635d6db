import { spawn } from 'node:child_process'
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

/** What helm ended with, and the end of what it said. */
export class HelmError extends Error {
  override readonly name = 'HelmError'
  readonly kind: 'failed' | 'unreachable' | 'busy' | 'deadline' | 'aborted' | 'not-started'
  readonly output: string
  constructor(kind: HelmError['kind'], message: string, output: string) {
    super(message)
    this.kind = kind
    this.output = output
  }
}

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
  /** Installs or upgrades. Fails with HelmError. */
  upgrade(
    call: HelmCall & { readonly chart: Chart; readonly values: Readonly<Record<string, unknown>> },
  ): Promise<void>
  /** No release is success. With `hooks: false` a failing hook is of no account. */
  uninstall(call: HelmCall & { readonly hooks: boolean }): Promise<void>
  close(): void
}

const OUTPUT_BYTES = 16 * 1_024
const GRACE_MS = 5_000
/**
 * Node cannot ask to die with its parent, so a shell in helm's process group watches a pipe: when its other end, ours,
 * is gone, it kills the group. The trap lets helm end by itself when the group is asked to.
 */
const WATCHED = 'trap : TERM; { cat <&3 >/dev/null 2>&1; kill -9 0; } >/dev/null 2>&1 & "$@" 3<&-; exit $?'

export function createHelmDriver(config: Pick<OperatorConfig, 'helm' | 'kubeconfigPath'>): HelmDriver {
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

type Run = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly input: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onStarted: () => void
}

async function runHelm(run: Run): Promise<void> {
  if (run.signal.aborted) throw new HelmError('aborted', 'helm was not started', '')
  const child = spawn('/bin/sh', ['-c', WATCHED, 'helm', run.command, ...run.args], {
    env: { ...run.env },
    // Leader of a process group of its own: what helm starts ends with it.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let ending: 'deadline' | 'aborted' | undefined
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-OUTPUT_BYTES)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
    child.once('exit', () => child.stdio[3]?.destroy())
  })
  // A helm that ends before it has read everything breaks the pipe: its exit code says why.
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  child.once('spawn', run.onStarted)
  child.stdin?.end(run.input)
  const signal = (name: NodeJS.Signals): void => signalGroup(child.pid, name)
  let force: NodeJS.Timeout | undefined
  const end = (why: 'deadline' | 'aborted'): void => {
    ending ??= why
    signal('SIGTERM')
    force ??= setTimeout(() => signal('SIGKILL'), GRACE_MS)
  }
  const timer = setTimeout(() => end('deadline'), run.timeoutMs)
  const abort = (): void => end('aborted')
  run.signal.addEventListener('abort', abort, { once: true })
  try {
    const code = await ended
    if (code !== 0) throw helmErrorOf(ending, code, output)
  } catch (error) {
    if (error instanceof HelmError) throw error
    throw new HelmError('not-started', `helm cannot be started: ${String(error)}`, '')
  } finally {
    clearTimeout(timer)
    clearTimeout(force)
    run.signal.removeEventListener('abort', abort)
  }
}

function signalGroup(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, name)
  } catch {
    // It has just ended.
  }
}

const UNREACHABLE =
  /cluster unreachable|connection refused|connection reset|i\/o timeout|TLS handshake timeout|connection lost|EOF|no such host|currently unable to handle|too many requests|etcdserver|context deadline exceeded/i
const BUSY = /another operation .* is in progress/i
/** Faults of the chart itself, whose texts may speak of ends of files and the like. */
const CHART_FAULT = /parse error|template: |execution error|don't meet the specifications/i

/** The error behind an end of helm other than success. */
export function helmErrorOf(
  ending: 'deadline' | 'aborted' | undefined,
  code: number | null,
  output: string,
): HelmError {
  const said = output.trim()
  const last = said.split('\n').findLast((line) => line.startsWith('Error:')) ?? said.split('\n').at(-1) ?? ''
  if (ending === 'deadline') return new HelmError('deadline', 'helm did not end in time', said)
  if (ending === 'aborted') return new HelmError('aborted', 'helm was stopped', said)
  // 127 is the shell's: there is no such program.
  if (code === 126 || code === 127)
    return new HelmError('not-started', `helm cannot be started: ${last}`, said)
  if (CHART_FAULT.test(last)) return new HelmError('failed', last, said)
  if (BUSY.test(said)) return new HelmError('busy', last, said)
  if (UNREACHABLE.test(last)) return new HelmError('unreachable', last, said)
  return new HelmError('failed', last === '' ? `helm ended with code ${code}` : last, said)
}
