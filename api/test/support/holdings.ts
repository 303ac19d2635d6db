import { type Tenant, TENANTS } from '@service/crds'
import { FINALIZER } from '@service/domain'
import { type KubeClient, NAMESPACES, SECRETS } from '@service/kube'

/** Counts what is asked to be deleted, and asks for it. */
export function watched(kube: KubeClient): {
  readonly cluster: KubeClient
  readonly deletions: () => number
} {
  let count = 0
  const cluster: KubeClient = {
    ...kube,
    delete: (...call) => {
      count += 1
      return kube.delete(...call)
    },
  }
  return { cluster, deletions: () => count }
}

/** Tenants that the operator has taken on: finalizer set, namespace there. */
export async function standing(kube: KubeClient): Promise<Tenant[]> {
  const { items } = await kube.list<Tenant>(TENANTS)
  return items.filter(({ metadata, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'NamespaceReady')?.status === 'True'
    return ready && metadata.finalizers?.includes(FINALIZER) === true
  })
}

/** What the cluster holds of ours; namespaces by uid, so that one that was deleted and made again would show. */
export async function holdings(kube: KubeClient) {
  const [namespaces, secrets, tenants] = await Promise.all([
    kube.list(NAMESPACES),
    kube.list(SECRETS),
    kube.list(TENANTS),
  ])
  return {
    namespaces: namespaces.items.map(
      ({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.deletionTimestamp}`,
    ),
    secrets: secrets.items.length,
    tenants: tenants.items.map(({ metadata }) => metadata.name),
  }
}
