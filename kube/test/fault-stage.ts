import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startWireProxy } from '../../dev/src/wire-proxy/index.ts'
import type { WireProxy } from '../../dev/src/wire-proxy/index.ts'
import { createKubeClient, startReflector } from '../src/index.ts'
import type { KubeClient, KubeObject, Reflector, ReflectorTuning, WatchEvent } from '../src/index.ts'
import { CONFIG_MAPS, eventually } from './cluster.ts'
import type { connectToCluster } from './cluster.ts'

export type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }

export type Connected = Awaited<ReturnType<typeof connectToCluster>>

const LABEL = 'fault-scenario'

/** A reflector behind a proxy of its own, with objects of its own that it watches: scenarios run side by side. */
export type Stage = {
  readonly proxy: WireProxy
  /** Goes through the proxy, as the reflector does. */
  readonly client: KubeClient
  readonly reflector: Reflector<ConfigMap>
  readonly events: WatchEvent<ConfigMap>[]
  readonly errors: unknown[]
  /** Past the proxy. */
  put(name: string, value: string): Promise<void>
  remove(name: string): Promise<void>
  /** What the cache and the listener have, against the server: empty when they agree. */
  differences(): Promise<string[]>
  end(): Promise<void>
}

export type StageOptions = {
  readonly tuning?: Partial<ReflectorTuning>
  /** Before the reflector starts. */
  readonly before?: (proxy: WireProxy) => void
  /** A file whose content is the bearer token, instead of the administrator's. */
  readonly tokenFile?: string
}

export async function setStage(
  { kubeconfigPath, client: direct, namespace, directory }: Connected,
  options: StageOptions = {},
): Promise<Stage> {
  const scenario = crypto.randomUUID().slice(0, 8)
  const proxy = await startWireProxy({ kubeconfigPath })
  const path = join(directory, scenario)
  await (options.tokenFile === undefined
    ? proxy.writeKubeconfig(path)
    : writeTokenFileKubeconfig(path, proxy, options.tokenFile))
  const client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-faults' })
  options.before?.(proxy)
  const events: WatchEvent<ConfigMap>[] = []
  const errors: unknown[] = []
  const put = async (name: string, value: string): Promise<void> => {
    const metadata = { name: `${scenario}-${name}`, namespace, labels: { [LABEL]: scenario } }
    await direct.apply<ConfigMap>(CONFIG_MAPS, { metadata, data: { value } }, { fieldManager: 'test' })
  }
  await put('kept', '0')
  await put('doomed', '0')
  const reflector = startReflector<ConfigMap>(
    {
      client,
      type: CONFIG_MAPS,
      namespace,
      labelSelector: `${LABEL}=${scenario}`,
      onEvent: (event) => events.push(event),
      onError: (error) => errors.push(error),
    },
    options.tuning,
  )
  return {
    proxy,
    client,
    reflector,
    events,
    errors,
    put,
    remove: async (name) =>
      void (await direct.delete(CONFIG_MAPS, { name: `${scenario}-${name}`, namespace })),
    differences: async () => {
      const { items } = await direct.list<ConfigMap>(CONFIG_MAPS, {
        namespace,
        labelSelector: `${LABEL}=${scenario}`,
      })
      const server = versions(items)
      return [
        ...unlike('cache', versions(reflector.items()), server),
        ...unlike('listener', versions(told(events)), server),
      ]
    },
    end: async () => {
      await reflector.stop()
      await client.close()
      await proxy.close()
    },
  }
}

/** Opened by the first complete list and the watch after it. */
export async function untilWatching({ reflector, proxy }: Stage): Promise<void> {
  await reflector.hasSynced()
  await eventually('an open watch', () => proxy.openWatches('configmaps') > 0)
}

/** Milliseconds until cache and listener equal the server, which nobody changes meanwhile. */
export async function untilEqual(stage: Stage, limitMs: number): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const differences = await stage.differences()
    const took = performance.now() - startedAt
    if (differences.length === 0) return took
    if (took > limitMs) throw new Error(`after ${limitMs} ms:\n${differences.join('\n')}`)
    await sleep(50)
  }
}

/** What a listener has that does as it is told. */
function told(events: readonly WatchEvent<ConfigMap>[]): ConfigMap[] {
  const has = new Map<string, ConfigMap>()
  for (const { type, object } of events) {
    if (type === 'set') has.set(object.metadata.name, object)
    else has.delete(object.metadata.name)
  }
  return [...has.values()]
}

const versions = (objects: readonly ConfigMap[]): Map<string, string> =>
  new Map(
    objects.map(({ metadata, data }) => [metadata.name, `${data?.['value']}@${metadata.resourceVersion}`]),
  )

function unlike(what: string, ours: Map<string, string>, server: Map<string, string>): string[] {
  return [...new Set([...ours.keys(), ...server.keys()])]
    .filter((name) => ours.get(name) !== server.get(name))
    .map((name) => `${what} has ${name} ${ours.get(name)}, the server ${server.get(name)}`)
}

/** The most moments within any such span of time. */
export function busiest(moments: readonly number[], spanMs: number): number {
  const within = (start: number): number => moments.filter((at) => at >= start && at < start + spanMs).length
  return Math.max(0, ...moments.map(within))
}

/** As a pod's service account is configured: the library does not know the `tokenFile` of kubectl's kubeconfigs. */
async function writeTokenFileKubeconfig(path: string, proxy: WireProxy, tokenFile: string): Promise<void> {
  await proxy.writeKubeconfig(path, 'replaced')
  const provider = JSON.stringify({ name: 'tokenFile', config: { tokenFile } })
  const inline = await readFile(path, 'utf8')
  await writeFile(path, inline.replace('token: replaced', `auth-provider: ${provider}`))
}
