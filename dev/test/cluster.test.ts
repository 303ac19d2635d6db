import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectApi, readKubeconfig } from '../src/cluster/client.ts'
import type { ApiClient } from '../src/cluster/client.ts'
import { announceTestCluster, readClusterConfig } from '../src/cluster/config.ts'
import { startEmbeddedCluster } from '../src/cluster/embedded.ts'
import type { EmbeddedCluster } from '../src/cluster/embedded.ts'
import { startTestCluster, testCluster } from '../src/cluster/testing.ts'
import { requiredVersion } from '../src/cluster/tool-modules.ts'
import { ensureTools } from '../src/cluster/tools.ts'
import { isRunning, signal } from '../src/process.ts'
import type { ProcessRecord } from '../src/process.ts'

const MINUTE = 60_000

describe('the embedded cluster', () => {
  let dataDir: string
  let cluster: EmbeddedCluster | undefined
  let api: ApiClient

  const start = async (): Promise<EmbeddedCluster> => {
    cluster = await startEmbeddedCluster({ dataDir })
    api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
    return cluster
  }

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'service-cluster-test-'))
    await ensureTools()
    await start()
  }, 15 * MINUTE)

  afterAll(async () => {
    api.close()
    await cluster?.stop()
    await rm(dataDir, { recursive: true, force: true })
  }, MINUTE)

  it('is a Kubernetes of the pinned version that asks for a valid certificate and a token', async () => {
    const goMod = await readFile(new URL('../cluster/tools/kubernetes/go.mod', import.meta.url), 'utf8')
    const version = await api.call<{ gitVersion: string }>('GET', '/version')
    expect(version.gitVersion).toBe(requiredVersion(goMod, 'k8s.io/kubernetes'))

    const { server, ca = '' } = await readKubeconfig(cluster!.kubeconfigPath)
    const withoutCa = connectApi({ server, token: cluster!.token })
    await expect(withoutCa.call('GET', '/version')).rejects.toThrow(/certificate/)
    const withoutToken = connectApi({ server, ca, token: 'wrong' })
    await expect(withoutToken.call('GET', '/api/v1/namespaces')).rejects.toMatchObject({ status: 401 })
    withoutCa.close()
    withoutToken.close()
  })

  it(
    'has controllers and a scheduler at work',
    async () => {
      await api.call('POST', '/apis/apps/v1/namespaces/default/deployments', {
        body: {
          metadata: { name: 'pending' },
          spec: {
            selector: { matchLabels: { app: 'pending' } },
            template: {
              metadata: { labels: { app: 'pending' } },
              spec: { nodeSelector: { no: 'node' }, containers: [{ name: 'main', image: 'none' }] },
            },
          },
        },
      })
      const pods = '/api/v1/namespaces/default/pods?labelSelector=app%3Dpending'
      await expect
        .poll(
          async () => {
            const { items } = await api.call<PodList>('GET', pods)
            return items[0]?.status.conditions?.find((each) => each.type === 'PodScheduled')?.reason
          },
          { timeout: 20_000 },
        )
        .toBe('Unschedulable')
    },
    MINUTE,
  )

  it('lets the tools of the same folder in', async () => {
    const tools = await ensureTools()
    const kubectl = spawnSync(
      tools.kubectl,
      ['--kubeconfig', cluster!.kubeconfigPath, 'get', 'deployment', 'pending', '-o', 'name'],
      { encoding: 'utf8' },
    )
    expect(kubectl.stdout.trim()).toBe('deployment.apps/pending')
    const helm = spawnSync(tools.helm, ['--kubeconfig', cluster!.kubeconfigPath, 'list'], {
      encoding: 'utf8',
    })
    expect(helm).toMatchObject({ status: 0 })
  })

  it('refuses a second start on the same folder', async () => {
    await expect(startEmbeddedCluster({ dataDir })).rejects.toThrow(/already runs a cluster/)
    await expect(api.call('GET', '/readyz')).resolves.toBe('ok')
  })

  it(
    'keeps its address, its tokens and its objects over a restart',
    async () => {
      const before = cluster!
      api.close()
      await before.stop()
      expect(before.processes.filter(isRunning)).toEqual([])
      const after = await start()
      expect(after).toMatchObject({ serverUrl: before.serverUrl, token: before.token })
      await expect(
        api.call('GET', '/apis/apps/v1/namespaces/default/deployments/pending'),
      ).resolves.toMatchObject({ metadata: { name: 'pending' } })
    },
    2 * MINUTE,
  )

  it(
    'tells when a component dies',
    async () => {
      api.close()
      await cluster!.stop()
      const died = Promise.withResolvers<string>()
      cluster = await startEmbeddedCluster({ dataDir, onExit: (component) => died.resolve(component) })
      signal(
        cluster.processes.find((each) => each.name === 'kube-scheduler')!,
        'SIGKILL',
      )
      await expect(died.promise).resolves.toBe('kube_scheduler')
    },
    MINUTE,
  )
})

describe('a cluster whose component cannot start', () => {
  it(
    'says which one and why, and leaves nothing running',
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'service-cluster-test-'))
      const first = await startEmbeddedCluster({ dataDir })
      await first.stop()
      await rm(join(dataDir, 'pki', 'service-account.key'))
      await expect(startEmbeddedCluster({ dataDir })).rejects.toThrow(
        /kube-apiserver ended[^]*service-account/,
      )
      expect(await readdir(dataDir)).not.toContain('processes.json')
      await rm(dataDir, { recursive: true, force: true })
    },
    2 * MINUTE,
  )
})

describe('a cluster whose parent was killed', () => {
  it('is ended and started anew by the next start on its folder', { timeout: 2 * MINUTE }, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'service-cluster-test-'))
    const module = new URL('../src/cluster/embedded.ts', import.meta.url).href
    const script = `import { startEmbeddedCluster } from '${module}'
      await startEmbeddedCluster({ dataDir: '${dataDir}' })
      console.log('ready')
      setInterval(() => undefined, 1000)`
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio })
    await once(parent.stdout, 'data')
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    const left = JSON.parse(await readFile(join(dataDir, 'processes.json'), 'utf8')) as ProcessRecord[]
    expect(left.filter(isRunning)).toHaveLength(5)

    const next = await startEmbeddedCluster({ dataDir })
    expect(left.filter(isRunning)).toEqual([])
    await next.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
})

describe('the cluster of a test run', () => {
  it(
    'starts at the first request and is shared',
    async () => {
      const before = readClusterConfig().testClusterSocket
      const server = await startTestCluster()
      try {
        const [one, two] = await Promise.all([testCluster(), testCluster()])
        expect(one.serverUrl).toBe(two.serverUrl)
        await one.stop()
        const api = connectApi(await readKubeconfig(two.kubeconfigPath))
        await expect(api.call('GET', '/readyz')).resolves.toBe('ok')
        api.close()
      } finally {
        await server.stop()
        announceTestCluster(before)
      }
    },
    2 * MINUTE,
  )
})

interface PodList {
  items: Array<{ status: { conditions?: Array<{ type: string; reason?: string }> } }>
}
