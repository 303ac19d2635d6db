import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectApi, readKubeconfig } from '../src/cluster/client.ts'
import type { ApiClient } from '../src/cluster/client.ts'
import { testCluster } from '../src/cluster/testing.ts'
import type { TestCluster } from '../src/cluster/testing.ts'
import { startLocalNode } from '../src/node/local-node.ts'
import type { LocalNode } from '../src/node/local-node.ts'
import type { Pod } from '../src/node/types.ts'
import { isRunning, ownRecord, startProcess } from '../src/process.ts'
import type { ProcessRecord } from '../src/process.ts'

const MINUTE = 60_000
const SOON = { timeout: 30_000, interval: 50 }
const IMAGE = 'registry.example/team/app'
const NAMESPACE = `local-node-${process.pid}`
const nodeName = `local-${process.pid}`
const core = `/api/v1/namespaces/${NAMESPACE}`
const deployments = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`

let cluster: TestCluster
let api: ApiClient
let dataDir: string
let node: LocalNode
const lines: string[] = []

const startNode = async (): Promise<LocalNode> => {
  const script = fileURLToPath(new URL('node-image.mjs', import.meta.url))
  const started = await startLocalNode({
    kubeconfigPath: cluster.kubeconfigPath,
    nodeName,
    dataDir,
    images: { [IMAGE]: { command: process.execPath, args: [script] } },
    backoff: { initialMs: 200, maxMs: 1_000, resetMs: 60_000 },
    log: (line) => lines.push(line),
  })
  await started.registered
  return started
}

const containerOf = (more: object = {}) => ({
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

const volumes = [
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

const deploy = async (name: string, container: object, spec: object = {}): Promise<void> => {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { nodeName, volumes, containers: [container], ...spec } }
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
const stateOf = async (name: string) => (await podOf(name)).status?.containerStatuses?.[0]
const readyOf = async (name: string) =>
  (await podOf(name)).status?.conditions?.find((each) => each.type === 'Ready')?.status

const ask = async (name: string, path: string): Promise<string> => {
  const ip = (await podOf(name)).status?.podIP
  const response = await fetch(`http://${ip}:8080${path}`, { signal: AbortSignal.timeout(2_000) })
  return response.text()
}
const reported = async (name: string) =>
  JSON.parse(await ask(name, '/env')) as { env: Record<string, string>; args: string[] }
const fileOf = async (name: string, file: string | undefined): Promise<string> =>
  ask(name, `/?file=${encodeURIComponent(file ?? '')}`)

const recordsOf = async (name: string): Promise<ProcessRecord[]> => {
  const folder = join(dataDir, 'pods', `${NAMESPACE}_${(await podOf(name)).metadata.name}`)
  const files = (await readdir(folder)).filter((each) => each.endsWith('.process.json'))
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return texts.map((text) => JSON.parse(text) as ProcessRecord)
}

const removeDeployment = async (name: string): Promise<void> => {
  await api.call('DELETE', `${deployments}/${name}`, { body: { propagationPolicy: 'Foreground' } })
  await expect.poll(() => podsOf(name), SOON).toEqual([])
}

beforeAll(async () => {
  cluster = await testCluster()
  api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
  dataDir = await mkdtemp(join(tmpdir(), 'service-local-node-'))
  await api.call('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
  await api.call('POST', `${core}/secrets`, {
    body: { metadata: { name: 'keys' }, stringData: { password: 'first' } },
  })
  await api.call('POST', `${core}/configmaps`, {
    body: { metadata: { name: 'settings' }, data: { level: 'debug', json: '{"a":1}' } },
  })
  node = await startNode()
}, 15 * MINUTE)

afterAll(async () => {
  await node?.stop()
  api?.close()
  await cluster?.stop()
  await rm(dataDir, { recursive: true, force: true })
}, MINUTE)

describe('a pod of a Deployment on the local node', () => {
  beforeAll(() => deploy('app', containerOf()))

  it('runs with its environment, its files and an address of its own', async () => {
    await expect.poll(async () => (await stateOf('app'))?.started, SOON).toBe(true)
    const pod = await podOf('app')
    expect(pod.status).toMatchObject({ phase: 'Running', hostIP: '127.0.0.1' })
    expect(pod.status?.podIP).toMatch(/^127\.42\./)

    const { env, args } = await reported('app')
    expect(env).toMatchObject({
      PHRASE: 'hello $(GREETING) $(UNKNOWN)',
      BIND_ADDRESS: pod.status?.podIP,
      POD: pod.metadata.name,
      PASSWORD: 'first',
      FROM_password: 'first',
      LEVEL: 'debug',
      LIKE_A_PATH: '/etc/keys-of-others/password',
    })
    expect(env).not.toHaveProperty('VITEST')
    expect(args[2]).toBe('--greeting=hello')
    await expect(fileOf('app', env.KEY_FILE)).resolves.toBe('first')
    await expect(fileOf('app', args[1])).resolves.toBe('{"a":1}')
    await expect(fileOf('app', args[1]?.replace('settings.json', 'labels'))).resolves.toContain('app="app"')
    await expect(readdir(env.CACHE ?? '')).resolves.toEqual([])

    const token = await fileOf('app', env.TOKEN_FILE)
    const { server, ca = '' } = await readKubeconfig(cluster.kubeconfigPath)
    const asPod = connectApi({ server, ca, token })
    await expect(asPod.call('GET', `${core}/secrets`)).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(`system:serviceaccount:${NAMESPACE}:default`) as string,
    })
    asPod.close()
  })

  it('is ready exactly while its probe says so, and so is the Deployment', async () => {
    const available = async () => {
      const { status } = await api.call<{ status: { readyReplicas?: number } }>('GET', `${deployments}/app`)
      return status.readyReplicas ?? 0
    }
    expect(await readyOf('app')).toBe('False')
    await ask('app', '/make-ready')
    await expect.poll(() => readyOf('app'), SOON).toBe('True')
    await expect.poll(available, SOON).toBe(1)
    await ask('app', '/make-unready')
    await expect.poll(() => readyOf('app'), SOON).toBe('False')
    await expect.poll(available, SOON).toBe(0)
  })

  it('sees a changed Secret in its file, not in its environment', async () => {
    const { env } = await reported('app')
    await api.call('PATCH', `${core}/secrets/keys`, { body: { stringData: { password: 'second' } } })
    await expect.poll(() => fileOf('app', env.KEY_FILE), SOON).toBe('second')
    expect((await reported('app')).env.PASSWORD).toBe('first')
  })

  it('starts again after a crash and tells how it ended', async () => {
    await ask('app', '/crash')
    await expect
      .poll(() => stateOf('app'), SOON)
      .toMatchObject({
        restartCount: 1,
        started: true,
        state: { running: {} },
        lastState: { terminated: { exitCode: 3, reason: 'Error' } },
      })
    await ask('app', '/crash')
    await expect.poll(() => stateOf('app'), SOON).toMatchObject({ restartCount: 2, started: true })
    expect((await reported('app')).env.PASSWORD).toBe('second')
  })

  it('ends by SIGTERM when it is deleted, with all its files but the log', async () => {
    const { metadata } = await podOf('app')
    const [record] = await recordsOf('app')
    await removeDeployment('app')
    expect(isRunning(record!)).toBe(false)
    const folder = join(dataDir, 'pods', `${NAMESPACE}_${metadata.name}`)
    await expect(readFile(join(folder, 'main.log'), 'utf8')).resolves.toMatch(/listening[^]*got SIGTERM/)
    await expect.poll(() => readdir(folder), SOON).toEqual(['main.log'])
  })
})

describe('a pod that cannot run', () => {
  it.each([
    [
      'unknown-image',
      { image: 'registry.example/other:1' },
      'ImagePullBackOff',
      /no program.*registry.example\/other$/,
    ],
    [
      'missing-key',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'absent' } } }] },
      'CreateContainerConfigError',
      /has no key "absent"/,
    ],
    [
      'exec-probe',
      { livenessProbe: { exec: { command: ['true'] } } },
      'CreateContainerConfigError',
      /liveness probe/,
    ],
  ])('%s says why, in its status and in an Event', async (name, change, reason, message) => {
    await deploy(name, containerOf(change))
    await expect.poll(async () => (await stateOf(name))?.state.waiting?.reason, SOON).toBe(reason)
    expect((await stateOf(name))?.state.waiting?.message).toMatch(message)
    const { metadata } = await podOf(name)
    await expect
      .poll(async () => {
        const { items } = await api.call<{ items: Array<{ type: string; message: string }> }>(
          'GET',
          `${core}/events?fieldSelector=involvedObject.uid%3D${metadata.uid}`,
        )
        return items.filter((each) => each.type === 'Warning').map((each) => each.message)
      }, SOON)
      .toContainEqual(expect.stringMatching(message))
    await removeDeployment(name)
  })

  it('starts once the Secret of its volume exists', async () => {
    const late = [
      ...volumes.filter((each) => each.name !== 'keys'),
      { name: 'keys', secret: { secretName: 'late' } },
    ]
    await deploy('late', containerOf(), { volumes: late })
    await expect
      .poll(async () => (await stateOf('late'))?.state.waiting?.message, SOON)
      .toMatch(/"late" not found/)
    await api.call('POST', `${core}/secrets`, {
      body: { metadata: { name: 'late' }, stringData: { password: 'x' } },
    })
    await expect.poll(async () => (await stateOf('late'))?.started, SOON).toBe(true)
    await removeDeployment('late')
  })
})

describe('a container that outlives SIGTERM or answers no more', () => {
  it('is killed after its grace period, with its children', async () => {
    const script = 'trap "" TERM; sleep 300 & wait; sleep 300'
    const command = ['/bin/sh', '-c', script]
    const quiet = { startupProbe: undefined, readinessProbe: undefined, livenessProbe: undefined }
    await deploy('stubborn', containerOf({ ...quiet, command, args: [] }), {
      terminationGracePeriodSeconds: 1,
    })
    await expect.poll(() => readyOf('stubborn'), SOON).toBe('True')
    const [record] = await recordsOf('stubborn')
    await removeDeployment('stubborn')
    const groupLives = () => {
      try {
        return process.kill(-record!.pid, 0)
      } catch {
        return false
      }
    }
    await expect.poll(groupLives, SOON).toBe(false)
  })

  it('is restarted when its liveness probe fails', async () => {
    const livenessProbe = { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 1, failureThreshold: 1 }
    await deploy('dead', containerOf({ livenessProbe }))
    await expect.poll(async () => (await stateOf('dead'))?.restartCount, SOON).toBeGreaterThan(0)
    await removeDeployment('dead')
  })
})

describe('the local node itself', () => {
  it('is a ready node with a live lease', async () => {
    const { metadata, status } = await api.call<{
      metadata: { labels: Record<string, string> }
      status: { conditions: Array<{ type: string; status: string }> }
    }>('GET', `/api/v1/nodes/${nodeName}`)
    expect(metadata.labels['service.dev/local-node']).toBe('true')
    expect(status.conditions.find((each) => each.type === 'Ready')?.status).toBe('True')
    const lease = await api.call<{ spec: { renewTime: string } }>(
      'GET',
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`,
    )
    expect(Date.now() - Date.parse(lease.spec.renewTime)).toBeLessThan(15_000)
  })

  it('takes pods from the scheduler by its label', async () => {
    const nodeSelector = { 'service.dev/local-node': 'true', 'kubernetes.io/hostname': nodeName }
    await deploy('scheduled', containerOf(), { nodeName: undefined, nodeSelector })
    await expect.poll(async () => (await stateOf('scheduled'))?.started, SOON).toBe(true)
    await removeDeployment('scheduled')
  })

  it('runs its pods again after a restart and ends what an earlier life has left', async () => {
    await deploy('again', containerOf())
    await expect.poll(async () => (await stateOf('again'))?.started, SOON).toBe(true)
    const before = await podOf('again')
    await node.stop()

    // As after a SIGKILL of the node: a recorded process that still runs.
    const folder = join(dataDir, 'pods', `${NAMESPACE}_${before.metadata.name}`)
    const logFile = join(dataDir, 'left.log')
    const left = await startProcess('left', '/bin/sleep', ['300'], { logFile })
    await writeFile(join(folder, 'left.main.process.json'), JSON.stringify(left.record))
    await writeFile(
      join(folder, 'other.main.process.json'),
      JSON.stringify({ ...ownRecord('test'), startTime: 'x' }),
    )

    node = await startNode()
    expect(isRunning(left.record)).toBe(false)
    await expect.poll(() => stateOf('again'), SOON).toMatchObject({ restartCount: 1, started: true })
    await expect.poll(async () => (await podOf('again')).status?.podIP, SOON).not.toBe(before.status?.podIP)
    await expect(ask('again', '/live')).resolves.toBe('')
    await removeDeployment('again')
  })

  it('refuses a second life on the same folder', async () => {
    await expect(startNode()).rejects.toThrow(/already runs a local node/)
  })
})
