import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@service/domain'
import { connectApi, readKubeconfig } from '../cluster/client.ts'
import { tryLock } from '../cluster/lock.ts'
import { reflect } from '../cluster/watch.ts'
import type { Watched } from '../cluster/watch.ts'
import { stopProcess } from '../process.ts'
import type { ProcessRecord } from '../process.ts'
import { addressPool } from './addresses.ts'
import type { Backoff } from './container.ts'
import { eventRecorder } from './events.ts'
import { HOST_IP, runPod } from './pod.ts'
import type { NodeContext, PodRunner } from './pod.ts'
import { keepRegistered } from './registration.ts'
import type { LocalImage, Pod } from './types.ts'

export interface LocalNodeOptions {
  kubeconfigPath: string
  /** Default local-0. */
  nodeName?: string
  /** Image repository (without tag and digest) -> the program that stands for it. */
  images: Readonly<Record<string, LocalImage>>
  /** Logs, volumes and process records of the pods. */
  dataDir: string
  log: (line: string) => void
  clock?: Clock
  backoff?: Backoff
  /** What of the machine's environment each process gets, usually PATH. */
  baseEnv?: Readonly<Record<string, string>>
}

export interface LocalNode {
  nodeName: string
  /** Resolves when the API server knows the node as ready; waits as long as there is no API server. */
  registered: Promise<void>
  /** Ends all pods' processes (at most `graceMs`, default 5 s) and the node. The pods stay in the API. */
  stop: (graceMs?: number) => Promise<void>
}

const BACKOFF: Backoff = { initialMs: 1_000, maxMs: 60_000, resetMs: 60_000 }
const REFRESH_MS = 60_000

/**
 * Registers a node and runs the pods that are bound to it as local processes. The API server may be absent
 * or go away at any time. Processes of an earlier life on the same folder are ended first.
 */
export async function startLocalNode(options: LocalNodeOptions): Promise<LocalNode> {
  const { log, dataDir, nodeName = 'local-0', clock = () => new Date() } = options
  const podsDir = join(dataDir, 'pods')
  await mkdir(podsDir, { recursive: true, mode: 0o700 })
  const lock = await tryLock(join(dataDir, 'lock'), 'local node')
  if ('holder' in lock) throw new Error(`Process ${lock.holder.pid} already runs a local node on ${dataDir}.`)
  const api = connectApi(await readKubeconfig(options.kubeconfigPath).catch(releasing(lock)))
  await endLeftovers(podsDir).catch(releasing(lock))

  const stopping = new AbortController()
  const { signal } = stopping
  const addresses = addressPool()
  const node: NodeContext = {
    api,
    nodeName,
    podsDir,
    images: options.images,
    events: eventRecorder(api, nodeName, clock, log),
    backoff: options.backoff ?? BACKOFF,
    clock,
    baseEnv: options.baseEnv ?? {},
    log,
    takeIp: addresses.take,
    releaseIp: addresses.release,
  }
  const pods = new Pods(node)
  const registered = Promise.withResolvers<void>()
  const loops = [
    keepRegistered({ api, nodeName, hostIp: HOST_IP, clock, signal, log, onRegistered: registered.resolve }),
    reflect<Pod & Watched>({
      api,
      path: '/api/v1/pods',
      query: { fieldSelector: `spec.nodeName=${nodeName}` },
      onSync: (items) => pods.replaceAll(items),
      onEvent: (type, pod) => (type === 'DELETED' ? pods.remove(pod.metadata.uid) : pods.update(pod)),
      signal,
      log,
    }),
    // Release records are Secrets too, large ones, and no pod mounts them.
    followSources(
      pods,
      'secret',
      '/api/v1/secrets',
      { fieldSelector: 'type!=helm.sh/release.v1' },
      { api, signal, log },
    ),
    followSources(pods, 'configMap', '/api/v1/configmaps', {}, { api, signal, log }),
  ]
  const refresher = setInterval(() => pods.refreshAll(), REFRESH_MS)

  return {
    nodeName,
    registered: registered.promise,
    stop: async (graceMs = 5_000) => {
      stopping.abort()
      clearInterval(refresher)
      await Promise.all(loops)
      await pods.stop(graceMs)
      api.close()
      await lock.release()
    },
  }
}

function releasing(lock: { release: () => Promise<void> }): (error: unknown) => Promise<never> {
  return async (error) => {
    await lock.release()
    throw error
  }
}

function followSources(
  pods: Pods,
  kind: 'secret' | 'configMap',
  path: string,
  query: Readonly<Record<string, string>>,
  rest: Pick<Parameters<typeof reflect>[0], 'api' | 'signal' | 'log'>,
): Promise<void> {
  return reflect({
    ...rest,
    path,
    query,
    onSync: () => pods.refreshAll(),
    onEvent: (_type, { metadata }) => pods.refresh(kind, metadata.namespace ?? '', metadata.name),
  })
}

/** The pods that the node runs, by uid. */
class Pods {
  readonly #node: NodeContext
  readonly #runners = new Map<string, PodRunner>()

  constructor(node: NodeContext) {
    this.#node = node
  }

  update(pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata
    const runner = this.#runners.get(uid)
    if (runner !== undefined) return runner.update(pod)
    const over = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
    if (over && deletionTimestamp === undefined) return
    this.#runners.set(uid, runPod(this.#node, pod))
  }

  replaceAll(items: readonly Pod[]): void {
    const present = new Set(items.map((pod) => pod.metadata.uid))
    for (const uid of this.#runners.keys()) if (!present.has(uid)) this.remove(uid)
    for (const pod of items) this.update(pod)
  }

  /** The API server has forgotten the pod: nobody waits for its end any more. */
  remove(uid: string): void {
    const runner = this.#runners.get(uid)
    this.#runners.delete(uid)
    runner?.stop(2_000).catch((error: unknown) => this.#node.log(`pod ${uid}: ${String(error)}`))
  }

  refresh(kind: 'secret' | 'configMap', namespace: string, name: string): void {
    for (const runner of this.#runners.values()) if (runner.uses(kind, namespace, name)) runner.refresh()
  }

  refreshAll(): void {
    for (const runner of this.#runners.values()) runner.refresh()
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop(graceMs)))
  }
}

/** A killed node leaves processes and volumes behind; the pods are started anew, so both must go. */
async function endLeftovers(podsDir: string): Promise<void> {
  for (const pod of await readdir(podsDir)) {
    for (const entry of await readdir(join(podsDir, pod), { withFileTypes: true })) {
      const path = join(podsDir, pod, entry.name)
      if (entry.isDirectory()) await rm(path, { recursive: true, force: true })
      if (!entry.name.endsWith('.process.json')) continue
      const record = await readFile(path, 'utf8')
        .then((text) => JSON.parse(text) as ProcessRecord)
        .catch(() => undefined)
      if (record !== undefined) await stopProcess(record, 2_000)
      await rm(path, { force: true })
    }
  }
}
