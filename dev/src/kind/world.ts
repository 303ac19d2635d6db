import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createKindCluster, exportKindLogs, loadKindImages } from '../cluster/kind.ts'
import type { KindCluster } from '../cluster/kind.ts'
import { freePort } from '../cluster/ports.ts'
import { buildImages, readImageConfig } from '../images/build.ts'
import type { Connection } from '../system/connection.ts'
import { networkManifest } from './config.ts'
import { guideBlocks, prepareGuide, runGuide } from './guide.ts'
import type { GuidePlace } from './guide.ts'
import { clusterTools } from './kubectl.ts'
import type { ClusterTools } from './kubectl.ts'
import { NAMESPACE, NODE_PORTS, RELEASE } from './layout.ts'
import type { KindWorld } from './layout.ts'
import { doors, smallRequests, STANDIN_OBJECTS, systemValues } from './manifests.ts'
import { buildStandins } from './standins.ts'

/** How far the guide is followed. */
const LAST_OF = { installed: '4. Sign in and choose a password', tenant: '5. Create a tenant' } as const

export type Log = (line: string) => void
export type Place = { readonly name: string; readonly dataDir: string }

/**
 * From nothing to a system that answers: cluster, images, stand-ins, and the commands of the installation guide, with its
 * tenant or without. What runs is left as it is on failure.
 */
export async function raiseWorld(place: Place, until: keyof typeof LAST_OF, log: Log): Promise<KindWorld> {
  const timed = timer(log)
  const images = await timed('images', () => allImages(log))
  const network = networkManifest()
  const cluster = await timed('cluster', () =>
    createKindCluster({
      ...place,
      nodePorts: Object.values(NODE_PORTS),
      waitReady: network === undefined,
    }),
  )
  const tools = await clusterTools(cluster.kubeconfigPath)
  if (network !== undefined) await timed('network', () => bringNetwork(tools, network))
  await timed('images into the node', () => loadKindImages(cluster, images))
  await tools.kubectl(['apply', '--filename', '-'], list(await environmentObjects(tools)))
  const guide = await guidePlace(place, cluster)
  const printed = await timed('installation guide', () => followGuide(guide, until, log))
  const connection = await connect(cluster, tools, chosenPassword(printed))
  const { name, kubeconfigPath } = cluster
  return { connection, cluster: { name, kubeconfigPath }, guide }
}

const timer =
  (log: Log) =>
  async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now()
    const result = await work()
    log(`${what}: ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    return result
  }

async function bringNetwork({ kubectl }: ClusterTools, manifest: string): Promise<void> {
  await kubectl(['apply', '--filename', manifest])
  await kubectl(['wait', 'nodes', '--all', '--for=condition=Ready', '--timeout=300s'])
}

async function allImages(log: Log): Promise<readonly string[]> {
  const images = [...(await buildImages(readImageConfig(), log)), ...(await buildStandins(log))]
  const built = images.filter(({ fresh }) => fresh).map(({ reference }) => reference)
  log(built.length === 0 ? 'images are warm: none had to be built' : `images are cold: ${built.join(', ')}`)
  return images.map(({ reference }) => reference)
}

async function environmentObjects({ kubectl }: ClusterTools): Promise<readonly object[]> {
  const served = await kubectl(['get', '--raw', '/apis/admissionregistration.k8s.io/v1'])
  const version = served.includes('"mutatingadmissionpolicies"') ? 'v1' : 'v1beta1'
  return [...STANDIN_OBJECTS, ...smallRequests(version)]
}

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

const hostPort = (cluster: KindCluster, name: keyof typeof NODE_PORTS): number => {
  const port = cluster.ports.get(NODE_PORTS[name])
  if (port === undefined) throw new Error(`the cluster has no port for ${name}`)
  return port
}

async function guidePlace({ dataDir }: Place, cluster: KindCluster): Promise<GuidePlace> {
  const directory = join(dataDir, 'guide')
  const port = await freePort()
  const place = {
    directory,
    kubeconfig: cluster.kubeconfigPath,
    port,
    values: join(directory, 'values.json'),
  }
  await prepareGuide(place, systemValues({ api: hostPort(cluster, 'api'), forwarded: port }))
  return place
}

async function followGuide(place: GuidePlace, until: keyof typeof LAST_OF, log: Log): Promise<string> {
  const blocks = await guideBlocks()
  const last = blocks.findLastIndex(({ heading }) => heading === LAST_OF[until])
  if (last < 0) throw new Error(`docs/install.md has no commands below "${LAST_OF[until]}"`)
  return runGuide(place, blocks.slice(0, last + 1), log)
}

function chosenPassword(printed: string): string {
  const password = /^your password is now (\S+)$/m.exec(printed)?.[1]
  if (password === undefined) throw new Error('docs/install.md has told no password')
  return password
}

async function read<T>({ kubectl }: ClusterTools, kind: string, name: string): Promise<T> {
  return JSON.parse(await kubectl(['get', kind, name, '--namespace', NAMESPACE, '--output', 'json'])) as T
}

async function secret(tools: ClusterTools, name: string): Promise<Readonly<Record<string, string>>> {
  const { data } = await read<{ data: Record<string, string> }>(tools, 'secret', name)
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  )
}

/** What a test or a person uses: REST through the real Service, database and metrics through ports beside it. */
async function connect(cluster: KindCluster, tools: ClusterTools, password: string): Promise<Connection> {
  const selector = async (name: string) => {
    const { spec } = await read<{ spec: { selector: Record<string, string> } }>(tools, 'services', name)
    return spec.selector
  }
  const selectors = { postgres: await selector(`${RELEASE}-postgres`), api: await selector(`${RELEASE}-api`) }
  await tools.kubectl(['apply', '--filename', '-'], list(doors(selectors)))
  const database = async (role: string): Promise<string> => {
    const { user = '', password: own = '' } = await secret(tools, `${RELEASE}-postgres-${role}-creds`)
    const login = `${encodeURIComponent(user)}:${encodeURIComponent(own)}`
    return `postgres://${login}@127.0.0.1:${hostPort(cluster, 'postgres')}/service`
  }
  const { email = '' } = await secret(tools, `${RELEASE}-bootstrap-admin`)
  return {
    mssp_url: `http://localhost:${hostPort(cluster, 'api')}`,
    proxy_mssp_url: null,
    proxy_trusted_ip: null,
    customer_url_template: `http://{slug}.localhost:${hostPort(cluster, 'api')}`,
    metrics_url: `http://127.0.0.1:${hostPort(cluster, 'metrics')}/metrics`,
    admin: { email, password },
    kubeconfig: cluster.kubeconfigPath,
    databases: { admin: await database('admin'), app: await database('app'), mssp: await database('mssp') },
    indexer_url: `http://127.0.0.1:${hostPort(cluster, 'indexer')}`,
    llm_url: null,
    pids: {},
  }
}

/** What is needed to understand a failure: logs of nodes and pods, and all of the tenants' objects. */
export async function keepEvidence(world: Place, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await exportKindLogs(world, join(folder, 'logs'))
  const { kubectl } = await clusterTools(join(world.dataDir, 'kubeconfig'))
  const kinds = 'tenants,namespaces,pods,deployments,statefulsets,services,leases,networkpolicies,events'
  for (const [file, args] of [
    ['tenants.yaml', ['get', 'tenants.service.dev', '--output', 'yaml']],
    ['objects.yaml', ['get', kinds, '--all-namespaces', '--output', 'yaml']],
    ['pods.txt', ['describe', 'pods', '--all-namespaces']],
  ] as const)
    await writeFile(join(folder, file), await kubectl(args).catch((error: unknown) => String(error)))
}

export async function writeWorld(file: string, world: KindWorld): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(world, null, 2)}\n`, { mode: 0o600 })
}
