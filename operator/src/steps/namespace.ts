import type { Tenant } from '@service/crds'
import { FIELD_MANAGER } from '@service/domain'
import { isKubeError, NAMESPACES } from '@service/kube'
import type { ReconcileContext } from '../context.ts'
import { namespaceManifest } from '../desired/index.ts'
import type { NamespaceSeen } from '../observation.ts'

/**
 * Makes the namespace, or brings the labels of ours up to date. Somebody who was faster is found by the next look, which
 * compares `tenant-id`: nothing is taken over here.
 */
export async function namespaceStep(
  context: ReconcileContext,
  tenant: Tenant,
  seen: NamespaceSeen,
): Promise<void> {
  const manifest = namespaceManifest(tenant, context.config.wazuh)
  if (seen.state === 'ours') {
    const metadata = { ...manifest.metadata, uid: seen.uid }
    await context.kube.apply(
      NAMESPACES,
      { ...manifest, metadata },
      { fieldManager: FIELD_MANAGER.operator, force: true },
    )
    return
  }
  try {
    await context.kube.create(NAMESPACES, manifest)
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
  context.hit('operator.namespace.created')
}
