import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readKubeconfig } from '../src/cluster/client.ts'
import { writeKubeconfig } from '../src/cluster/credentials.ts'
import type { LocalNode } from '../src/node/local-node.ts'
import { isRunning, ownRecord, startProcess, stopProcess } from '../src/process.ts'
import { containerOf, cuttableProxy, nodeFixture, SOON } from './node-fixture.ts'
import type { NodeFixture } from './node-fixture.ts'

const MINUTE = 60_000

let on: NodeFixture
let node: LocalNode | undefined

beforeAll(async () => {
  on = await nodeFixture('node-life')
  node = await on.startNode()
}, 15 * MINUTE)

afterAll(async () => {
  await node?.stop()
  await on?.end()
}, MINUTE)

describe('the local node itself', () => {
  it('is a ready node with a live lease', async () => {
    const { metadata, status } = await on.api.call<{
      metadata: { labels: Record<string, string> }
      status: { conditions: Array<{ type: string; status: string }> }
    }>('GET', `/api/v1/nodes/${on.namespace}`)
    expect(metadata.labels['service.dev/local-node']).toBe('true')
    expect(status.conditions.find((each) => each.type === 'Ready')?.status).toBe('True')
    const lease = await on.api.call<{ spec: { renewTime: string } }>(
      'GET',
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${on.namespace}`,
    )
    expect(Date.now() - Date.parse(lease.spec.renewTime)).toBeLessThan(15_000)
  })

  it('takes pods from the scheduler by its label', async () => {
    const nodeSelector = { 'service.dev/local-node': 'true', 'kubernetes.io/hostname': on.namespace }
    await on.deploy('scheduled', containerOf(), { nodeName: undefined, nodeSelector })
    await expect.poll(async () => (await on.stateOf('scheduled'))?.started, SOON).toBe(true)
    await on.removeDeployment('scheduled')
  })

  it('runs its pods again after a restart and ends what an earlier life has left', async () => {
    await on.deploy('again', containerOf())
    await expect.poll(async () => (await on.stateOf('again'))?.started, SOON).toBe(true)
    const before = await on.podOf('again')
    await node?.stop()

    // As after a SIGKILL of the node: a recorded process that still runs.
    const folder = await on.folderOf('again')
    const logFile = join(on.dataDir, 'left.log')
    const left = await startProcess('left', '/bin/sleep', ['300'], { logFile })
    await writeFile(join(folder, 'left.main.process.json'), JSON.stringify(left.record))
    await writeFile(
      join(folder, 'other.main.process.json'),
      JSON.stringify({ ...ownRecord('test'), startTime: 'x' }),
    )

    node = await on.startNode()
    expect(isRunning(left.record)).toBe(false)
    await expect.poll(() => on.stateOf('again'), SOON).toMatchObject({ restartCount: 1, started: true })
    await expect
      .poll(async () => (await on.podOf('again')).status?.podIP, SOON)
      .not.toBe(before.status?.podIP)
    await expect(on.ask('again', '/live')).resolves.toBe('')
    await on.removeDeployment('again')
  })

  it('refuses a second life on the same folder', async () => {
    await expect(on.startNode()).rejects.toThrow(/already runs a local node/)
  })
})

describe('the local node as a process of its own', () => {
  const folders: string[] = []
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

  const run = async (name: string, change: Record<string, string | undefined>) => {
    const folder = await mkdtemp(join(tmpdir(), 'service-local-node-'))
    folders.push(folder)
    const images = join(folder, 'images.json')
    await writeFile(images, JSON.stringify({ app: { command: 'node', args: [] } }))
    const logFile = join(folder, 'log')
    const env = {
      PATH: '/usr/bin:/bin',
      LOCAL_NODE_KUBECONFIG: on.cluster.kubeconfigPath,
      LOCAL_NODE_NAME: name,
      LOCAL_NODE_DATA_DIR: folder,
      LOCAL_NODE_IMAGES: images,
      ...change,
    }
    const main = fileURLToPath(new URL('../src/node/main.ts', import.meta.url))
    const started = await startProcess(name, process.execPath, [main], { logFile, env })
    return { ...started, log: () => readFile(logFile, 'utf8') }
  }

  it('registers, and ends well by SIGTERM', async () => {
    const own = await run(`own-${process.pid}`, {})
    await expect.poll(own.log, SOON).toMatch(/node own-\d+ is ready/)
    await stopProcess(own.record)
    await expect(own.exited).resolves.toEqual({ code: 0, signal: null })
  })

  it('says which setting is missing', async () => {
    const own = await run('none', { LOCAL_NODE_KUBECONFIG: undefined })
    await expect(own.exited).resolves.toMatchObject({ code: 1 })
    await expect(own.log()).resolves.toMatch(/^The local node cannot start: LOCAL_NODE_KUBECONFIG: set it to/)
  })
})

describe('a node that loses the API server', () => {
  it(
    'keeps its pods running and catches up afterwards',
    async () => {
      const { server, ca, token } = await readKubeconfig(on.cluster.kubeconfigPath)
      const wire = await cuttableProxy(Number(new URL(server).port))
      const folder = await mkdtemp(join(tmpdir(), 'service-local-node-'))
      const kubeconfigPath = join(folder, 'kubeconfig')
      const proxied = {
        server: `https://127.0.0.1:${wire.port}`,
        ca: ca ?? '',
        user: 'admin',
        token: token ?? '',
      }
      await writeKubeconfig(kubeconfigPath, proxied)
      const name = `outage-${process.pid}`
      const far = await on.startNode({ kubeconfigPath, dataDir: folder, nodeName: name })
      try {
        await on.deploy('outage', containerOf(), { nodeName: name })
        await expect.poll(async () => (await on.stateOf('outage'))?.started, SOON).toBe(true)
        const { status, metadata } = await on.podOf('outage')
        const live = async () => (await fetch(`http://${status?.podIP}:8080/live`)).status
        await on.ask('outage', '/make-ready')
        await expect.poll(() => on.readyOf('outage'), SOON).toBe('True')

        wire.cut()
        await fetch(`http://${status?.podIP}:8080/crash`)
        // The restart needs Secrets, which nobody can read now: it must wait, not give up.
        await new Promise((resolve) => setTimeout(resolve, 1_500))
        await expect(live()).rejects.toThrow()
        expect(await on.readyOf('outage')).toBe('True')
        wire.restore()
        await expect
          .poll(() => on.stateOf('outage'), SOON)
          .toMatchObject({ restartCount: 1, started: true, ready: false })
        expect(await live()).toBe(200)

        wire.cut()
        await on.api.call('DELETE', `${on.deployments}/outage`, { body: { propagationPolicy: 'Background' } })
        await new Promise((resolve) => setTimeout(resolve, 500))
        expect(await live()).toBe(200)
        expect((await on.podOf('outage')).metadata).toMatchObject({
          uid: metadata.uid,
          deletionTimestamp: expect.any(String) as string,
        })
        wire.restore()
        await expect.poll(() => on.podsOf('outage'), SOON).toEqual([])
        await expect(live()).rejects.toThrow()
      } finally {
        await far.stop()
        wire.close()
        await rm(folder, { recursive: true, force: true })
      }
    },
    MINUTE,
  )
})
