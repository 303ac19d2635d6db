import { mkdir, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import {
  buildImages,
  createKindCluster,
  exportKindLogs,
  loadKindImages,
  readImageConfig,
  signIn,
  waitUntil,
} from '@service/dev'
import type { Connection, KindCluster } from '@service/dev'
import { networkManifest } from '../config.ts'
import { clusterTools } from './kubectl.ts'
import type { ClusterTools } from './kubectl.ts'
import { NAMESPACE, NODE_PORTS, RELEASE } from './layout.ts'
import type { KindWorld } from './layout.ts'
import { databasePort, STANDIN_OBJECTS, systemValues } from './manifests.ts'
import { buildStandins } from './standins.ts'

const CHART = resolve(import.meta.dirname, '../../../charts/service-system')
const ANSWER_MS = 120_000

export type Log = (line: string) => void
export type Place = { readonly name: string; readonly dataDir: string }

/** From nothing to a system that answers: cluster, images, stand-ins, `helm install`. What runs is left as it is on failure. */
export async function raiseWorld(place: Place, log: Log): Promise<KindWorld> {
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
  await tools.kubectl(['apply', '--filename', '-'], list(STANDIN_OBJECTS))
  await timed('helm install', () => install(cluster, tools))
  const connection = await timed('first answer', () => connect(cluster, tools))
  const { name, kubeconfigPath } = cluster
  return { connection, cluster: { name, kubeconfigPath } }
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
  const product = await buildImages(readImageConfig(), log)
  return [...product.map(({ reference }) => reference), ...(await buildStandins(log))]
}

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

const hostPort = (cluster: KindCluster, name: keyof typeof NODE_PORTS): number => {
  const port = cluster.ports.get(NODE_PORTS[name])
  if (port === undefined) throw new Error(`the cluster has no port for ${name}`)
  return port
}

async function install(cluster: KindCluster, { helm }: ClusterTools): Promise<void> {
  const values = JSON.stringify(systemValues(hostPort(cluster, 'api')))
  const place = ['--namespace', NAMESPACE, '--create-namespace']
  await helm(['install', RELEASE, CHART, ...place, '--values', '-', '--wait', '--timeout', '5m'], values)
}

async function secret(tools: ClusterTools, name: string): Promise<Readonly<Record<string, string>>> {
  const text = await tools.kubectl(['get', 'secret', name, '--namespace', NAMESPACE, '--output', 'json'])
  const { data } = JSON.parse(text) as { data: Record<string, string> }
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  )
}

/** The doors that the scenarios use: REST through the real Service, the database through a port beside it. */
async function connect(cluster: KindCluster, tools: ClusterTools): Promise<Connection> {
  const service = await tools.kubectl([
    'get',
    'service',
    `${RELEASE}-postgres`,
    '--namespace',
    NAMESPACE,
    '--output',
    'json',
  ])
  const { spec } = JSON.parse(service) as { spec: { selector: Record<string, string> } }
  await tools.kubectl(['apply', '--filename', '-'], list([databasePort(spec.selector)]))
  const url = `http://localhost:${hostPort(cluster, 'api')}`
  const database = async (role: string): Promise<string> => {
    const { user = '', password = '' } = await secret(tools, `${RELEASE}-postgres-${role}-creds`)
    const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
    return `postgres://${login}@127.0.0.1:${hostPort(cluster, 'postgres')}/service`
  }
  return {
    mssp_url: url,
    proxy_mssp_url: null,
    proxy_trusted_ip: null,
    customer_url_template: url.replace('//', '//{slug}.'),
    metrics_url: '',
    admin: await finalAdmin(url, await secret(tools, `${RELEASE}-bootstrap-admin`)),
    kubeconfig: cluster.kubeconfigPath,
    databases: { admin: await database('admin'), app: await database('app'), mssp: await database('mssp') },
    indexer_url: `http://127.0.0.1:${hostPort(cluster, 'indexer')}`,
    llm_url: null,
    pids: {},
  }
}

/** As the guide says: sign in with the made password, then choose one's own. */
async function finalAdmin(
  url: string,
  made: Readonly<Record<string, string>>,
): Promise<{ email: string; password: string }> {
  const { email = '', password: first = '' } = made
  const password = randomBytes(18).toString('base64url')
  const rest = await waitUntil(
    'the API to let the administrator in',
    () => signIn({ mssp_url: url, admin: { email, password: first } }),
    { timeoutMs: ANSWER_MS, pauseMs: 500 },
  )
  await rest.call('POST', '/api/auth/password/change', { old_password: first, new_password: password })
  return { email, password }
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
