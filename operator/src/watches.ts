import { ResourceEventType } from '@dot-i/k8s-operator'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { ADAPTER_LEASE_NAME, namespaceOf, RELEASE_NAME } from '@service/domain'
import { DAEMON_SETS, DEPLOYMENTS, LEASES, NAMESPACES, STATEFUL_SETS } from '@service/kube'
import type { KubeObject, ResourceType } from '@service/kube'
import type { ClusterCache } from './context.ts'
import type { WorkloadKind } from './helm/release.ts'
import type { TenantOperator } from './operator.ts'
import type { OwnWrites } from './own-writes.ts'

/** A DaemonSet has no watch, because the chart has none: it is asked for when one is waited for. */
export const WORKLOAD_TYPES: Readonly<Record<WorkloadKind, ResourceType>> = {
  Deployment: DEPLOYMENTS,
  StatefulSet: STATEFUL_SETS,
  DaemonSet: DAEMON_SETS,
}
const INSTANCE_LABEL = 'app.kubernetes.io/instance'
const NAMESPACE_PREFIX = namespaceOf('')

export const isConnected = (tenant: Tenant): boolean =>
  tenant.status?.conditions?.some(({ type, status }) => type === 'AdapterConnected' && status === 'True') ===
  true

/** The caches of the watches, seen as what they hold of a tenant. */
export function cacheOf(shell: TenantOperator, own: OwnWrites): ClusterCache {
  const get = (type: ResourceType, key: { name: string; namespace?: string }): KubeObject | undefined =>
    shell.reflectors().get(type.kind)?.get(key)
  return {
    tenant: (name) => own.newest(name, get(TENANTS, { name }) as Tenant | undefined),
    namespace: (name) => get(NAMESPACES, { name }),
    workload: (namespace, { kind, name }) => get(WORKLOAD_TYPES[kind], { name, namespace }),
    heartbeat: (namespace) => get(LEASES, { name: ADAPTER_LEASE_NAME, namespace }),
  }
}

/** The kinds whose changes a tenant waits for, each as little of it as possible. */
export function watchTheRest(
  shell: TenantOperator,
  cache: ClusterCache,
  enqueue: (name: string) => void,
): void {
  const tenantOf = (namespace: string | undefined): string | undefined => {
    if (namespace?.startsWith(NAMESPACE_PREFIX) !== true) return undefined
    const name = namespace.slice(NAMESPACE_PREFIX.length)
    return cache.tenant(name) === undefined ? undefined : name
  }
  const wake = (namespace: string | undefined): void => {
    const name = tenantOf(namespace)
    if (name !== undefined) enqueue(name)
  }
  shell.watch(NAMESPACES, {}, ({ object }) => wake(object.metadata?.name))
  const release = { labelSelector: `${INSTANCE_LABEL}=${RELEASE_NAME}` }
  for (const type of [DEPLOYMENTS, STATEFUL_SETS]) {
    shell.watch(type, release, ({ object }) => wake(object.metadata?.namespace))
  }
  const adapters = { fieldSelector: `metadata.name=${ADAPTER_LEASE_NAME}` }
  shell.watch(LEASES, adapters, ({ type, object }) => {
    const name = tenantOf(object.metadata?.namespace)
    const tenant = name === undefined ? undefined : cache.tenant(name)
    // A renewal of a connected adapter changes nothing: the sweep would notice its absence.
    if (
      name !== undefined &&
      tenant !== undefined &&
      (type === ResourceEventType.Deleted || !isConnected(tenant))
    )
      enqueue(name)
  })
}
