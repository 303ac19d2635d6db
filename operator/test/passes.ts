import type { Tenant } from '@service/crds'
import { checksumsOf } from '../src/desired/index.ts'
import type { Observation } from '../src/observation.ts'
import { assess, plan } from '../src/plan.ts'
import type { Next } from '../src/plan.ts'
import { lostNamespace, nextStatus, sameStatus } from '../src/status.ts'
import type { StepFailure } from '../src/status.ts'
import { story, tenantSpec } from './tenant.ts'

const T0 = Date.parse('2026-01-01T00:00:00Z')
export const at = (seconds: number): Date => new Date(T0 + seconds * 1_000)
export const MINUTE = 60

export const NOTHING: Observation = {
  namespace: { state: 'absent' },
  material: { state: 'ready' },
  outdatedSecrets: ['adapter-token'],
  release: null,
  desired: { valuesDigest: 'v1', chartVersion: '1.0.0' },
  workloads: null,
  checksums: checksumsOf(new Map()),
  heartbeatAt: null,
}
export const OURS = { state: 'ours', uid: 'n1', labelled: true } as const
export const RELEASE = {
  revision: 1,
  status: 'deployed',
  chartVersion: '1.0.0',
  valuesDigest: 'v1',
  manifestDigest: 'm1',
  ours: false,
}
export const INSTALLED: Observation = {
  ...NOTHING,
  namespace: OURS,
  outdatedSecrets: [],
  release: RELEASE,
  workloads: { total: 1, unready: ['Deployment adapter: 0 of 1 ready'] },
}
export const READY: Observation = { ...INSTALLED, workloads: { total: 1, unready: [] }, heartbeatAt: at(0) }

export const fresh = (): Tenant => {
  const tenant = tenantSpec('acme', { tenantId: '00000000-0000-4000-8000-00000000000a' })
  return { ...tenant, metadata: { name: 'acme', uid: 'u1', resourceVersion: '1', generation: 1 } }
}

/** What a reconciliation does between a look and an act, without the cluster. */
export function pass(tenant: Tenant, seen: Observation, now: Date, failed?: StepFailure): [Tenant, Next] {
  const verdicts = assess(tenant, seen, now)
  const next = plan(tenant, seen, verdicts, now)
  const status = nextStatus({
    tenant,
    verdicts,
    next,
    now,
    release: seen.release,
    namespaceLost: lostNamespace(tenant, seen),
    ...(failed === undefined ? {} : { failed }),
  })
  return [sameStatus(tenant.status, status) ? tenant : { ...tenant, status }, next]
}
/** Passes until nothing changes any more. */
export function settle(tenant: Tenant, seen: Observation, now: Date): Tenant {
  let current = tenant
  for (let passes = 0; passes < 8; passes++) {
    const [after] = pass(current, seen, now)
    if (after === current) return current
    current = after
  }
  throw new Error(`does not settle: ${story(current).slice(-8).join(', ')}`)
}
export const onboarded = (): Tenant => {
  const stages: Observation[] = [
    NOTHING,
    { ...NOTHING, namespace: OURS },
    { ...NOTHING, namespace: OURS, outdatedSecrets: [] },
    INSTALLED,
    { ...INSTALLED, workloads: { total: 1, unready: [] } },
    READY,
  ]
  return stages.reduce((tenant, seen) => settle(tenant, seen, at(1)), fresh())
}
export const withSpec = (tenant: Tenant, change: Partial<Tenant['spec']>): Tenant => ({
  ...tenant,
  metadata: { ...tenant.metadata, generation: (tenant.metadata.generation ?? 0) + 1 },
  spec: { ...tenant.spec, ...change },
})
