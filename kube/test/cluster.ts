import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { testCluster } from '../../dev/src/cluster/testing.ts'
import { createKubeClient, NAMESPACES } from '../src/index.ts'
import type { KubeClient, ResourceType } from '../src/index.ts'

export const CONFIG_MAPS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}

/** The run's cluster, a client, and a namespace and a folder that go at the end. */
export async function connectToCluster() {
  const cluster = await testCluster()
  const directory = await mkdtemp(join(tmpdir(), 'service-kube-'))
  const client: KubeClient = createKubeClient({
    kubeconfigPath: cluster.kubeconfigPath,
    userAgent: 'kube-test',
  })
  const namespace = `kube-${crypto.randomUUID().slice(0, 8)}`
  await client.create(NAMESPACES, { metadata: { name: namespace } })
  return {
    kubeconfigPath: cluster.kubeconfigPath,
    client,
    namespace,
    directory,
    end: async () => {
      await client.delete(NAMESPACES, { name: namespace })
      await client.close()
      await rm(directory, { recursive: true, force: true })
      await cluster.stop()
    },
  }
}

/** Waits until the condition holds; fails with `what` after `ms`. */
export async function eventually(what: string, condition: () => boolean, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`)
    await sleep(20)
  }
}
