import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { connectApi, readKubeconfig } from '../src/cluster/client.ts'
import { testCluster } from '../src/cluster/testing.ts'
import { startLocalNode } from '../src/node/local-node.ts'
import type { LocalNodeOptions } from '../src/node/local-node.ts'
import type { Pod } from '../src/node/types.ts'
import type { ProcessRecord } from '../src/process.ts'

export const SOON = { timeout: 30_000, interval: 50 }
export const IMAGE = 'registry.example/team/app'

export const containerOf = (more: object = {}) => ({
  name: 'main',
  image: `${IMAGE}:1.2.3@sha256:${'0'.repeat(64)}`,
  args: ['--config', '/etc/app/settings.json', '--greeting=$(GREETING)'],
  ports: [{ name: 'http', containerPort: 8080 }],
  env: [
    { name: 'GREETING', value: 'hello' },
    { name: 'PHRASE', value: '$(GREETING) $$(GREETING) $(UNKNOWN)' },
    { name: 'BIND_ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
    { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } },
    { name: 'KEY_FILE', value: '/etc/keys/password' },
    { name: 'CACHE', value: '/cache' },
    { name: 'LIKE_A_PATH', value: '/etc/keys-of-others/password' },
    { name: 'TOKEN_FILE', value: '/var/run/secrets/kubernetes.io/serviceaccount/token' },
  ],
  envFrom: [{ prefix: 'FROM_', secretRef: { name: 'keys' } }],
  volumeMounts: [
    { name: 'keys', mountPath: '/etc/keys', readOnly: true },
    { name: 'app', mountPath: '/etc/app' },
    { name: 'cache', mountPath: '/cache' },
  ],
  readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 1, failureThreshold: 1 },
  livenessProbe: { httpGet: { path: '/live', port: 8080 }, periodSeconds: 1 },
  startupProbe: { httpGet: { path: '/live', port: 'http' }, periodSeconds: 1, failureThreshold: 30 },
  ...more,
})

export const volumes = [
  { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o400 } },
  {
    name: 'app',
    projected: {
      sources: [
        { configMap: { name: 'settings', items: [{ key: 'json', path: 'settings.json' }] } },
        { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
    },
  },
  { name: 'cache', emptyDir: {} },
]

export type NodeFixture = Awaited<ReturnType<typeof nodeFixture>>

/** A namespace with what the pods need, on the test cluster, and ways to ask about them. */
export async function nodeFixture(name: string) {
  const cluster = await testCluster()
  const api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
  const dataDir = await mkdtemp(join(tmpdir(), 'service-local-node-'))
  const namespace = `${name}-${process.pid}`
  const core = `/api/v1/namespaces/${namespace}`
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
  await api.call('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  const keys = { metadata: { name: 'keys' }, stringData: { password: 'first' } }
  await api.call('POST', `${core}/secrets`, { body: keys })
  const settings = { metadata: { name: 'settings' }, data: { level: 'debug', json: '{"a":1}' } }
  await api.call('POST', `${core}/configmaps`, { body: settings })

  const startNode = async (other: Partial<LocalNodeOptions> = {}) => {
    const script = fileURLToPath(new URL('node-image.mjs', import.meta.url))
    const started = await startLocalNode({
      kubeconfigPath: cluster.kubeconfigPath,
      nodeName: namespace,
      dataDir,
      images: { [IMAGE]: { command: process.execPath, args: [script] } },
      backoff: { initialMs: 200, maxMs: 1_000, resetMs: 60_000 },
      log: () => undefined,
      ...other,
    })
    await started.registered
    return started
  }
  const deploy = async (name: string, container: object, spec: object = {}): Promise<void> => {
    const labels = { app: name }
    const podSpec = { nodeName: namespace, volumes, containers: [container], ...spec }
    const template = { metadata: { labels }, spec: podSpec }
    const body = { metadata: { name }, spec: { selector: { matchLabels: labels }, template } }
    await api.call('POST', deployments, { body })
  }
  const podsOf = async (name: string): Promise<Pod[]> => {
    const { items } = await api.call<{ items: Pod[] }>('GET', `${core}/pods?labelSelector=app%3D${name}`)
    return items
  }
  const podOf = async (name: string): Promise<Pod> => {
    const [pod] = await podsOf(name)
    if (pod === undefined) throw new Error(`no pod of ${name} yet`)
    return pod
  }
  const ask = async (name: string, path: string): Promise<string> => {
    const ip = (await podOf(name)).status?.podIP
    const response = await fetch(`http://${ip}:8080${path}`, { signal: AbortSignal.timeout(2_000) })
    return response.text()
  }
  const folderOf = async (name: string): Promise<string> =>
    join(dataDir, 'pods', `${namespace}_${(await podOf(name)).metadata.name}`)

  return {
    cluster,
    api,
    dataDir,
    namespace,
    core,
    deployments,
    startNode,
    deploy,
    podsOf,
    podOf,
    ask,
    folderOf,
    stateOf: async (name: string) => (await podOf(name)).status?.containerStatuses?.[0],
    readyOf: async (name: string) =>
      (await podOf(name)).status?.conditions?.find((each) => each.type === 'Ready')?.status,
    reported: async (name: string) =>
      JSON.parse(await ask(name, '/env')) as { env: Record<string, string>; args: string[] },
    fileOf: (name: string, file = '') => ask(name, `/?file=${encodeURIComponent(file)}`),
    recordsOf: async (name: string): Promise<ProcessRecord[]> => {
      const folder = await folderOf(name)
      const files = (await readdir(folder)).filter((each) => each.endsWith('.process.json'))
      const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
      return texts.map((text) => JSON.parse(text) as ProcessRecord)
    },
    removeDeployment: async (name: string): Promise<void> => {
      await api.call('DELETE', `${deployments}/${name}`, { body: { propagationPolicy: 'Foreground' } })
      await expect.poll(() => podsOf(name), SOON).toEqual([])
    },
    end: async (): Promise<void> => {
      api.close()
      await cluster.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A wire to the API server that a test can cut: open connections break, new ones are closed at once. */
export async function cuttableProxy(port: number) {
  const open = new Set<Socket>()
  let whole = true
  const proxy = createServer((socket) => {
    if (!whole) {
      socket.destroy()
      return
    }
    const far = connect(port, '127.0.0.1')
    for (const end of [socket, far]) {
      open.add(end)
      end.on('error', () => undefined).on('close', () => [socket, far].forEach((each) => each.destroy()))
      end.on('close', () => open.delete(end))
    }
    socket.pipe(far).pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    whole = false
    for (const socket of open) socket.destroy()
  }
  const close = (): void => {
    cut()
    proxy.close()
  }
  return { port: (proxy.address() as AddressInfo).port, cut, restore: () => void (whole = true), close }
}
