import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { announceTestCluster, readClusterConfig } from './config.ts'
import { startEmbeddedCluster } from './embedded.ts'
import type { EmbeddedCluster } from './embedded.ts'
import { ensureTools } from './tools.ts'
import type { Tools } from './tools.ts'

export interface TestCluster {
  kubeconfigPath: string
  serverUrl: string
  tools: Tools
  /** Ends the cluster and removes its data, if it is this test file's own; a shared one stays. */
  stop: () => Promise<void>
}

export interface TestClusterServer {
  /** Ends the cluster, if any test file has asked for it, and removes its data. */
  stop: () => Promise<void>
}

/**
 * For a vitest globalSetup: offers one embedded cluster to all test files of the run and starts it when the
 * first of them calls `testCluster()`. A run without cluster tests pays nothing.
 */
export async function startTestCluster(): Promise<TestClusterServer> {
  const directory = await mkdtemp(join(tmpdir(), 'service-test-cluster-'))
  const path = join(directory, 'socket')
  let cluster: Promise<EmbeddedCluster> | undefined
  const connections = new Set<Socket>()
  const server = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => undefined).on('close', () => connections.delete(socket))
    cluster ??= startEmbeddedCluster({ dataDir: join(directory, 'cluster') })
    cluster.then(
      ({ kubeconfigPath, serverUrl }) => socket.end(JSON.stringify({ kubeconfigPath, serverUrl })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  announceTestCluster(path)
  return {
    stop: async () => {
      announceTestCluster(undefined)
      server.close()
      for (const socket of connections) socket.destroy()
      const started = await cluster?.catch(() => undefined)
      await started?.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * For a test file: the run's shared cluster, or, without a globalSetup that offers one, a cluster of its own.
 * Tests that share it keep apart by names of their own. Call `stop` at the end in either case.
 */
export async function testCluster(): Promise<TestCluster> {
  const tools = await ensureTools()
  const socket = readClusterConfig().testClusterSocket
  if (socket !== undefined) {
    return { ...(await askFor(socket)), tools, stop: () => Promise.resolve() }
  }
  const directory = await mkdtemp(join(tmpdir(), 'service-cluster-'))
  const cluster = await startEmbeddedCluster({ dataDir: directory })
  return {
    kubeconfigPath: cluster.kubeconfigPath,
    serverUrl: cluster.serverUrl,
    tools,
    stop: async () => {
      await cluster.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function askFor(path: string): Promise<{ kubeconfigPath: string; serverUrl: string }> {
  const chunks: Buffer[] = []
  for await (const chunk of connect(path)) chunks.push(chunk as Buffer)
  const answer = JSON.parse(Buffer.concat(chunks).toString('utf8')) as
    | { kubeconfigPath: string; serverUrl: string }
    | { error: string }
  if ('error' in answer) throw new Error(`the run's test cluster did not start: ${answer.error}`)
  return answer
}
