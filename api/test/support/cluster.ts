import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tenantCrd, TENANTS } from '@service/crds'
import { createKubeClient, type ResourceType } from '@service/kube'
import { startEmbeddedCluster } from '../../../dev/src/cluster/embedded.ts'

const DEFINITIONS: ResourceType = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** A cluster that nobody else watches, with the Tenant resource: an operator of another test would write into ours. */
export async function ownCluster(): Promise<{ kubeconfigPath: string; stop: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'service-api-cluster-'))
  const cluster = await startEmbeddedCluster({ dataDir, simulation: false })
  await serveTenants(cluster.kubeconfigPath)
  return {
    kubeconfigPath: cluster.kubeconfigPath,
    async stop() {
      await cluster.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function serveTenants(kubeconfigPath: string): Promise<void> {
  const client = createKubeClient({ kubeconfigPath, userAgent: 'service-api-test' })
  try {
    await client.create(DEFINITIONS, tenantCrd())
    for (let attempt = 0; attempt < 200; attempt += 1) {
      const served = await client.list(TENANTS).then(
        () => true,
        () => false,
      )
      if (served) return
      await sleep(50)
    }
    throw new Error('the API server does not serve Tenants')
  } finally {
    await client.close()
  }
}
