import { ADAPTER_LEASE, ADAPTER_LEASE_NAME, type Clock, namespaceOf } from '@service/domain'
import { isKubeError, type KubeClient, type KubeObject, LEASES } from '@service/kube'
import type { Log } from '../../log.ts'

const CALL_MS = 5_000
const HOLDER = 'adapter'
const REMEMBERED = 10_000

type Lease = KubeObject & { readonly spec: Readonly<Record<string, unknown>> }

/**
 * Carries heartbeats to the cluster, where the operator looks for them (decision 8.6): the first at once, then at most
 * one in half a minute for each tenant, and again after a failure. A namespace that is not there yet is no failure.
 */
export function createLeaseRenewer(options: {
  readonly cluster: KubeClient | null
  readonly clock: Clock
  readonly log: Log
}): (tenantId: string, slug: string) => Promise<void> {
  const { cluster, clock, log } = options
  const renewed = new Map<string, number>()
  const running = new Map<string, Promise<void>>()

  async function renew(kube: KubeClient, tenantId: string, slug: string): Promise<void> {
    const now = clock()
    try {
      if (!(await writeLease(kube, namespaceOf(slug), now))) return
      renewed.delete(tenantId)
      renewed.set(tenantId, now.getTime())
      const oldest = renewed.keys().next()
      if (renewed.size > REMEMBERED && !oldest.done) renewed.delete(oldest.value)
    } catch (error) {
      log.warn({ err: error, tenant_id: tenantId }, 'the heartbeat could not be carried to the cluster')
    }
  }

  return async (tenantId, slug) => {
    const last = renewed.get(tenantId)
    if (cluster === null || (last !== undefined && clock().getTime() - last < ADAPTER_LEASE.renewEveryMs))
      return
    const begun = running.get(tenantId)
    if (begun !== undefined) return begun
    const work = renew(cluster, tenantId, slug).finally(() => running.delete(tenantId))
    running.set(tenantId, work)
    return work
  }
}

/** `false` when there is no namespace to write to. */
async function writeLease(kube: KubeClient, namespace: string, now: Date): Promise<boolean> {
  const call = { timeoutMs: CALL_MS }
  const moment = now.toISOString().replace('Z', '000Z')
  const spec = {
    holderIdentity: HOLDER,
    leaseDurationSeconds: ADAPTER_LEASE.durationSeconds,
    renewTime: moment,
  }
  try {
    await kube.patch(LEASES, { name: ADAPTER_LEASE_NAME, namespace }, { spec }, call)
    return true
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
  }
  const lease: Lease = {
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: { name: ADAPTER_LEASE_NAME, namespace },
    spec: { ...spec, acquireTime: moment },
  }
  try {
    await kube.create(LEASES, lease, call)
    return true
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return false
    if (isKubeError(error, 'AlreadyExists')) return true
    throw error
  }
}
