import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectApi, readKubeconfig } from '../src/cluster/client.ts'
import type { LocalNode } from '../src/node/local-node.ts'
import { isRunning } from '../src/process.ts'
import { containerOf, nodeFixture, SOON, volumes } from './node-fixture.ts'
import type { NodeFixture } from './node-fixture.ts'

const MINUTE = 60_000

let on: NodeFixture
let node: LocalNode | undefined

beforeAll(async () => {
  on = await nodeFixture('node-pods')
  node = await on.startNode()
}, 15 * MINUTE)

afterAll(async () => {
  await node?.stop()
  await on?.end()
}, MINUTE)

describe('a pod of a Deployment on the local node', () => {
  beforeAll(() => on.deploy('app', containerOf()))

  it('runs with its environment, its files and an address of its own', async () => {
    await expect.poll(async () => (await on.stateOf('app'))?.started, SOON).toBe(true)
    const pod = await on.podOf('app')
    expect(pod.status).toMatchObject({ phase: 'Running', hostIP: '127.0.0.1' })
    expect(pod.status?.podIP).toMatch(/^127\.42\./)

    const { env, args } = await on.reported('app')
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
    await expect(on.fileOf('app', env.KEY_FILE)).resolves.toBe('first')
    await expect(on.fileOf('app', args[1])).resolves.toBe('{"a":1}')
    await expect(on.fileOf('app', args[1]?.replace('settings.json', 'labels'))).resolves.toContain(
      'app="app"',
    )
    await expect(readdir(env.CACHE ?? '')).resolves.toEqual([])

    const token = await on.fileOf('app', env.TOKEN_FILE)
    const { server, ca = '' } = await readKubeconfig(on.cluster.kubeconfigPath)
    const asPod = connectApi({ server, ca, token })
    await expect(asPod.call('GET', `${on.core}/secrets`)).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(`system:serviceaccount:${on.namespace}:default`) as string,
    })
    asPod.close()
  })

  it('is ready exactly while its probe says so, and so is the Deployment', async () => {
    const available = async () => {
      const { status } = await on.api.call<{ status: { readyReplicas?: number } }>(
        'GET',
        `${on.deployments}/app`,
      )
      return status.readyReplicas ?? 0
    }
    expect(await on.readyOf('app')).toBe('False')
    await on.ask('app', '/make-ready')
    await expect.poll(() => on.readyOf('app'), SOON).toBe('True')
    await expect.poll(available, SOON).toBe(1)
    await on.ask('app', '/make-unready')
    await expect.poll(() => on.readyOf('app'), SOON).toBe('False')
    await expect.poll(available, SOON).toBe(0)
  })

  it('sees a changed Secret in its file, not in its environment', async () => {
    const { env } = await on.reported('app')
    await on.api.call('PATCH', `${on.core}/secrets/keys`, { body: { stringData: { password: 'second' } } })
    await expect.poll(() => on.fileOf('app', env.KEY_FILE), SOON).toBe('second')
    expect((await on.reported('app')).env.PASSWORD).toBe('first')
  })

  it('starts again after a crash and tells how it ended', async () => {
    await on.ask('app', '/crash')
    await expect
      .poll(() => on.stateOf('app'), SOON)
      .toMatchObject({
        restartCount: 1,
        started: true,
        state: { running: {} },
        lastState: { terminated: { exitCode: 3, reason: 'Error' } },
      })
    await on.ask('app', '/crash')
    await expect.poll(() => on.stateOf('app'), SOON).toMatchObject({ restartCount: 2, started: true })
    expect((await on.reported('app')).env.PASSWORD).toBe('second')
  })

  it('ends by SIGTERM when it is deleted, with all its files but the log', async () => {
    const folder = await on.folderOf('app')
    const [record] = await on.recordsOf('app')
    await on.removeDeployment('app')
    expect(isRunning(record!)).toBe(false)
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
    await on.deploy(name, containerOf(change))
    await expect.poll(async () => (await on.stateOf(name))?.state.waiting?.reason, SOON).toBe(reason)
    expect((await on.stateOf(name))?.state.waiting?.message).toMatch(message)
    const { metadata } = await on.podOf(name)
    await expect
      .poll(async () => {
        const { items } = await on.api.call<{ items: Array<{ type: string; message: string }> }>(
          'GET',
          `${on.core}/events?fieldSelector=involvedObject.uid%3D${metadata.uid}`,
        )
        return items.filter((each) => each.type === 'Warning').map((each) => each.message)
      }, SOON)
      .toContainEqual(expect.stringMatching(message))
    await on.removeDeployment(name)
  })

  it('starts once the Secret of its volume exists', async () => {
    const late = [
      ...volumes.filter((each) => each.name !== 'keys'),
      { name: 'keys', secret: { secretName: 'late' } },
    ]
    await on.deploy('late', containerOf(), { volumes: late })
    await expect
      .poll(async () => (await on.stateOf('late'))?.state.waiting?.message, SOON)
      .toMatch(/"late" not found/)
    await on.api.call('POST', `${on.core}/secrets`, {
      body: { metadata: { name: 'late' }, stringData: { password: 'x' } },
    })
    await expect.poll(async () => (await on.stateOf('late'))?.started, SOON).toBe(true)
    await on.removeDeployment('late')
  })
})

describe('a container that outlives SIGTERM or answers no more', () => {
  it('is killed after its grace period, with its children', async () => {
    const script = 'trap "" TERM; sleep 300 & wait; sleep 300'
    const command = ['/bin/sh', '-c', script]
    const quiet = { startupProbe: undefined, readinessProbe: undefined, livenessProbe: undefined }
    await on.deploy('stubborn', containerOf({ ...quiet, command, args: [] }), {
      terminationGracePeriodSeconds: 1,
    })
    await expect.poll(() => on.readyOf('stubborn'), SOON).toBe('True')
    const [record] = await on.recordsOf('stubborn')
    await on.removeDeployment('stubborn')
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
    await on.deploy('dead', containerOf({ livenessProbe }))
    await expect.poll(async () => (await on.stateOf('dead'))?.restartCount, SOON).toBeGreaterThan(0)
    await on.removeDeployment('dead')
  })
})
