import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedCluster } from '../../../dev/src/cluster/embedded.ts'
import { installCrds } from '../../../dev/src/system/install-crds.ts'

/** A cluster that nobody else watches, with the Tenant resource: an operator of another test would write into ours. */
export async function ownCluster(): Promise<{ kubeconfigPath: string; stop: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'service-api-cluster-'))
  const cluster = await startEmbeddedCluster({ dataDir })
  await installCrds(cluster.kubeconfigPath)
  return {
    kubeconfigPath: cluster.kubeconfigPath,
    async stop() {
      await cluster.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
