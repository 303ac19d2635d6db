import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProcess, stopRecorded } from '../process.ts'
import type { ExitInfo, ProcessRecord, RunningProcess } from '../process.ts'
import { connectApi } from './client.ts'
import { apiserverArgs, controllerManagerArgs, etcdArgs, schedulerArgs } from './components.ts'
import { readClusterConfig } from './config.ts'
import { ensurePki, writeCaFile, writeKubeconfig } from './credentials.ts'
import type { PkiFiles } from './credentials.ts'
import { tryLock } from './lock.ts'
import { choosePorts } from './ports.ts'
import type { ClusterPorts } from './ports.ts'
import { applySimulation, assertAdmission, kwokArgs } from './simulation.ts'
import { ensureTools } from './tools.ts'
import type { Progress } from '../cached.ts'
import type { Tools } from './tools.ts'

export type Component = 'etcd' | 'kube_apiserver' | 'kube_controller_manager' | 'kube_scheduler' | 'kwok'

export interface EmbeddedClusterOptions {
  /** Holds everything of the cluster: etcd's data, keys, ports, kubeconfig, logs. */
  dataDir: string
  progress?: Progress
  ports?: Partial<ClusterPorts>
  /** Let etcd wait for the disk. Default false: what a crash of the machine loses is development data. */
  fsync?: boolean
  /** File for one line of JSON about each request that the API server has answered. Default: none. */
  auditLog?: string
  /** Simulated nodes and volumes, played by KWOK. Default true; without them, and without a node, pods stay pending. */
  simulation?: boolean
  /** How long the cluster may take to become ready. Default 90 s. */
  readyTimeoutMs?: number
  /** Called when a component ends although nobody has stopped it. */
  onExit?: (component: Component, exit: ExitInfo, lastLines: string) => void
}

export interface EmbeddedCluster {
  kubeconfigPath: string
  serverUrl: string
  caFile: string
  /** Bearer token of the cluster's administrator. */
  token: string
  pids: Partial<Record<Component, number>>
  /** In the order of their start; `stopRecorded` ends them from another process. */
  processes: readonly ProcessRecord[]
  /** Ends all components, last started first. The data stays. */
  stop: () => Promise<void>
}

/**
 * Starts a real Kubernetes control plane on 127.0.0.1, over the data that `dataDir` already holds, and waits
 * until it serves. Rejects, with everything stopped, when a component dies (with its last log lines), when it
 * is not ready in time, or when another living process runs a cluster on the same folder.
 */
export async function startEmbeddedCluster(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
  const { dataDir } = options
  const tools = await ensureTools(options.progress === undefined ? {} : { progress: options.progress })
  await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 })
  await mkdir(join(dataDir, 'pki'), { recursive: true, mode: 0o700 })
  const lock = await tryLock(join(dataDir, 'lock'), 'embedded cluster')
  if ('holder' in lock) {
    throw new Error(`Process ${lock.holder.pid} already runs a cluster on ${dataDir}.`)
  }
  const life = new ClusterLife(dataDir, options)
  try {
    await life.endLeftovers()
    const ports = await choosePorts(join(dataDir, 'ports.json'), options.ports ?? {})
    const pki = await ensurePki(join(dataDir, 'pki'))
    const deadline = AbortSignal.timeout(options.readyTimeoutMs ?? 90_000)
    const started = await startControlPlane({ life, tools, ports, pki, options, deadline })
    return {
      ...started,
      token: pki.tokens.admin,
      pids: life.pids(),
      processes: life.records(),
      stop: async () => {
        await life.stop()
        await lock.release()
      },
    }
  } catch (error) {
    await life.stop()
    await lock.release()
    throw error
  }
}

interface Plane {
  life: ClusterLife
  tools: Tools
  ports: ClusterPorts
  pki: PkiFiles
  options: EmbeddedClusterOptions
  deadline: AbortSignal
}

async function startControlPlane({ life, tools, ports, pki, options, deadline }: Plane) {
  const { dataDir, simulation = true } = options
  const serverUrl = `https://127.0.0.1:${ports.apiserver}`
  await life.start('etcd', tools.etcd, etcdArgs(dataDir, ports, options.fsync ?? false))
  await life.until('etcd', deadline, () => probe(`http://127.0.0.1:${ports.etcd}`, '/health', deadline))
  await life.start('kube_apiserver', tools.kubeApiserver, apiserverArgs(pki, ports, options.auditLog))

  const caFile = await life.until('its certificate', deadline, () => writeCaFile(pki.directory))
  const ca = await readFile(caFile, 'utf8')
  const kubeconfigPath = join(dataDir, 'kubeconfig')
  const kubeconfig = (path: string, user: string, token: string) =>
    writeKubeconfig(path, { server: serverUrl, ca, user, token })
  const controllerManager = join(pki.directory, 'controller-manager.kubeconfig')
  const scheduler = join(pki.directory, 'scheduler.kubeconfig')
  await kubeconfig(kubeconfigPath, 'admin', pki.tokens.admin)
  await kubeconfig(controllerManager, 'controller-manager', pki.tokens['controller-manager'])
  await kubeconfig(scheduler, 'scheduler', pki.tokens.scheduler)

  const api = connectApi({ server: serverUrl, ca, token: pki.tokens.admin })
  try {
    const get = (path: string) => api.call('GET', path, { timeoutMs: 5_000, signal: deadline })
    await life.until('/readyz', deadline, () => get('/readyz'))
    const managerArgs = controllerManagerArgs(pki, controllerManager, caFile)
    await life.start('kube_controller_manager', tools.kubeControllerManager, managerArgs)
    await life.start('kube_scheduler', tools.kubeScheduler, schedulerArgs(scheduler))
    if (simulation) {
      await life.until('the simulation', deadline, () => applySimulation(api))
      await life.start('kwok', tools.kwok, kwokArgs(kubeconfigPath))
    }
    await life.until('namespace default', deadline, () =>
      get('/api/v1/namespaces/default/serviceaccounts/default'),
    )
    if (simulation) await life.until('the admission of pods', deadline, () => assertAdmission(api))
  } finally {
    api.close()
  }
  return { kubeconfigPath, serverUrl, caFile }
}

/** The API server waits a second before it tries etcd again: better to start it when etcd answers. */
async function probe(server: string, path: string, deadline: AbortSignal): Promise<void> {
  const client = connectApi({ server })
  await client.call('GET', path, { timeoutMs: 2_000, signal: deadline }).finally(client.close)
}

/** The processes of one run of the cluster, recorded on disk before anything else happens. */
class ClusterLife {
  readonly #dataDir: string
  readonly #options: EmbeddedClusterOptions
  readonly #running = new Map<Component, RunningProcess>()
  #stopping: Promise<void> | undefined

  constructor(dataDir: string, options: EmbeddedClusterOptions) {
    this.#dataDir = dataDir
    this.#options = options
  }

  records(): ProcessRecord[] {
    return [...this.#running.values()].map((each) => each.record)
  }

  pids(): Partial<Record<Component, number>> {
    return Object.fromEntries([...this.#running].map(([component, { pid }]) => [component, pid]))
  }

  /** A killed parent leaves its children behind: they hold the ports and the data. */
  async endLeftovers(): Promise<void> {
    const text = await readFile(this.#pidFile(), 'utf8').catch(() => '[]')
    await stopRecorded(JSON.parse(text) as ProcessRecord[])
  }

  async start(component: Component, command: string, args: readonly string[]): Promise<void> {
    const logFile = this.#logFile(component)
    await rotate(logFile)
    const { childEnv } = readClusterConfig()
    const name = component.replaceAll('_', '-')
    const started = await startProcess(name, command, args, { logFile, env: childEnv, cwd: this.#dataDir })
    this.#running.set(component, started)
    await writeFile(`${this.#pidFile()}.new`, JSON.stringify(this.records()))
    await rename(`${this.#pidFile()}.new`, this.#pidFile())
    void started.exited.then(async (exit) => {
      if (this.#stopping !== undefined) return
      this.#options.onExit?.(component, exit, await lastLines(logFile))
    })
  }

  /** Repeats `attempt` until it succeeds; gives up at the deadline or when a component has died. */
  async until<T>(what: string, deadline: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    let last: unknown
    while (!deadline.aborted) {
      await this.#assertAlive()
      try {
        return await attempt()
      } catch (error) {
        last = error
        await sleep(50)
      }
    }
    const reason = last instanceof Error ? last.message : String(last)
    throw new Error(`The cluster was not ready in time, waiting for ${what}: ${reason}`)
  }

  async #assertAlive(): Promise<void> {
    for (const [component, { record, exit }] of this.#running) {
      const ended = exit()
      if (ended === undefined) continue
      const how = ended.signal ?? `exit code ${ended.code}`
      throw new Error(
        `${record.name} ended at its start (${how}):\n${await lastLines(this.#logFile(component))}`,
      )
    }
  }

  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await stopRecorded(this.records())
      await rm(this.#pidFile(), { force: true })
    })()
    return this.#stopping
  }

  #pidFile(): string {
    return join(this.#dataDir, 'processes.json')
  }

  #logFile(component: Component): string {
    return join(this.#dataDir, 'logs', `${component.replaceAll('_', '-')}.log`)
  }
}

const MAX_LOG_BYTES = 20 * 1024 * 1024

async function rotate(logFile: string): Promise<void> {
  const info = await stat(logFile).catch(() => undefined)
  if (info !== undefined && info.size > MAX_LOG_BYTES) await rename(logFile, `${logFile}.1`)
}

/** The end of a log, at most 15 lines. */
async function lastLines(logFile: string): Promise<string> {
  const file = await open(logFile, 'r').catch(() => undefined)
  if (file === undefined) return ''
  try {
    const { size } = await file.stat()
    const length = Math.min(size, 8_192)
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8').trimEnd().split('\n').slice(-15).join('\n')
  } finally {
    await file.close()
  }
}
