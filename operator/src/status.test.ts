import { TenantStatus } from '@service/crds'
import type { Tenant } from '@service/crds'
import { eventOfPhaseChange, nextTenantState, STEPS, TENANT_EVENTS } from '@service/domain'
import type { TenantState } from '@service/domain'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import {
  at,
  fresh,
  INSTALLED,
  MINUTE,
  NOTHING,
  onboarded,
  OURS,
  pass,
  READY,
  RELEASE,
  settle,
  withSpec,
} from '../test/passes.ts'
import { conditionOf, ONBOARDED, story } from '../test/tenant.ts'
import { checksumsOf } from './desired/index.ts'
import type { Observation } from './observation.ts'
import { assess, plan } from './plan.ts'
import { sameStatus, withRefusal } from './status.ts'
import type { StepFailure } from './status.ts'

describe('the status', () => {
  it('tells of an onboarding in order, each thing once', () => {
    const tenant = onboarded()
    expect(story(tenant)).toEqual(ONBOARDED)
    expect(conditionOf(tenant, 'Ready')).toBe('True Succeeded')
    expect(conditionOf(tenant, 'Reconciling')).toBeUndefined()
    expect(settle(tenant, READY, at(100))).toBe(tenant)
  })

  it('turns degraded at the profile’s timeout, not before, and a retry starts the time anew', () => {
    const waiting = settle(fresh(), INSTALLED, at(0))
    expect(waiting.status?.phase).toBe('provisioning')
    expect(settle(waiting, INSTALLED, at(15 * MINUTE - 1)).status?.phase).toBe('provisioning')
    const late = settle(waiting, INSTALLED, at(15 * MINUTE))
    expect(late.status?.phase).toBe('degraded')
    expect(late.status?.failure).toMatchObject({ step: 'workloads', reason: 'TimedOut' })
    expect(conditionOf(late, 'Stalled')).toBe('True TimedOut')
    // Nothing but a retry leads out, also when all is well by now.
    expect(settle(late, { ...READY, heartbeatAt: at(16 * MINUTE) }, at(16 * MINUTE)).status?.phase).toBe(
      'degraded',
    )
    const retried = settle(withSpec(late, { retryToken: '1' }), INSTALLED, at(20 * MINUTE))
    expect(retried.status).toMatchObject({ phase: 'provisioning' })
    expect(retried.status?.failure).toBeUndefined()
    expect(settle(retried, INSTALLED, at(34 * MINUTE)).status?.phase).toBe('provisioning')
    expect(settle(retried, INSTALLED, at(35 * MINUTE)).status?.phase).toBe('degraded')
  })

  it('calls what comes after the first installation an upgrade', () => {
    const wanted = { ...READY, desired: { valuesDigest: 'v2', chartVersion: '1.0.0' } }
    const before = onboarded()
    const upgrading = settle(before, wanted, at(2))
    expect(upgrading.status?.phase).toBe('active')
    const failed = { step: 'release', reason: 'InstallFailed', message: 'x', evidence: '' } as const
    const [broken] = pass(upgrading, wanted, at(3), failed)
    const same = pass(broken, wanted, at(4), failed)[0]
    expect(same).toBe(broken)
    const release = { ...RELEASE, valuesDigest: 'v2', revision: 2 }
    const done = settle(broken, { ...wanted, release }, at(5))
    expect(story(done).slice(ONBOARDED.length)).toEqual([
      'upgrade.started release',
      'upgrade.failed release',
      'upgrade.done release',
    ])
    expect(done.status?.phase).toBe('active')
  })

  it('tells of a namespace that has disappeared, once, and makes it again', () => {
    const lost = { ...NOTHING, outdatedSecrets: [] }
    const [gone, next] = pass(onboarded(), lost, at(5))
    expect(next).toEqual({ do: 'step', step: 'namespace' })
    expect(story(gone).at(-1)).toBe('namespace.missing')
    expect(gone.status?.phase).toBe('active')
    expect(pass(gone, lost, at(6))[0]).toBe(gone)
  })

  it('comes back from suspension and from a cancelled decommissioning to where it was', () => {
    const active = onboarded()
    const suspended = settle(withSpec(active, { desired: 'Suspend' }), READY, at(10))
    expect(conditionOf(suspended, 'Suspended')).toBe('True Suspended')
    const leaving = settle(withSpec(suspended, { desired: 'Decommission' }), READY, at(11))
    expect(leaving.status?.phase).toBe('decommissioning')
    expect(pass(leaving, NOTHING, at(12))[1].do).toBe('rest')
    expect(pass(leaving, { ...NOTHING, namespace: OURS }, at(12))[1].do).toBe('rest')
    // Its workloads live on, with tokens that are renewed; nothing else is touched.
    const renewed = { ...READY, outdatedSecrets: ['adapter-token'] }
    expect(pass(leaving, renewed, at(12))).toMatchObject([{}, { do: 'step', step: 'secrets' }])
    const outdated = { ...READY, desired: { valuesDigest: 'v2', chartVersion: '1.0.0' } }
    expect(pass(leaving, outdated, at(12))[1].do).toBe('rest')
    expect(story(pass(leaving, renewed, at(12))[0])).toEqual(story(leaving))
    const back = settle(withSpec(leaving, { desired: 'Suspend' }), READY, at(13))
    expect(back.status?.phase).toBe('suspended')
    expect(settle(withSpec(back, { desired: 'Run' }), READY, at(14)).status?.phase).toBe('active')
  })

  it('says that the adapter is silent without changing the state', () => {
    const silent = settle(onboarded(), READY, at(151))
    expect(conditionOf(silent, 'AdapterConnected')).toBe('False HeartbeatStale')
    expect(conditionOf(silent, 'Ready')).toBe('False HeartbeatStale')
    expect(silent.status?.phase).toBe('active')
    expect(settle(silent, READY, at(500))).toBe(silent)
  })
})

const observations = fc.record<Observation>({
  namespace: fc.constantFrom<Observation['namespace']>(
    { state: 'absent' },
    { state: 'foreign', tenantId: null, going: false },
    OURS,
    { ...OURS, labelled: false },
    { state: 'terminating', uid: 'n1', blockers: ['x'] },
  ),
  material: fc.constantFrom<Observation['material']>(
    { state: 'ready' },
    { state: 'missing' },
    { state: 'stale', revision: 0 },
  ),
  outdatedSecrets: fc.constantFrom([], ['adapter-token']),
  checksums: fc.constant(checksumsOf(new Map())),
  release: fc.option(
    fc.record({
      revision: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom('deployed', 'failed', 'pending-upgrade'),
      chartVersion: fc.constantFrom('1.0.0', '2.0.0'),
      valuesDigest: fc.constantFrom('v1', 'v2'),
      manifestDigest: fc.constant('m'),
      ours: fc.boolean(),
    }),
  ),
  desired: fc.constantFrom({ valuesDigest: 'v1', chartVersion: '1.0.0' }, { invalid: 'no' }),
  workloads: fc.option(fc.record({ total: fc.constant(1), unready: fc.constantFrom([], ['a: 0 of 1']) })),
  heartbeatAt: fc.option(fc.integer({ min: 0, max: 7_200 }).map(at)),
})
const steps = fc.array(
  fc.record({
    seen: observations,
    after: fc.integer({ min: 0, max: 600 }),
    desired: fc.constantFrom<Tenant['spec']['desired']>('Run', 'Run', 'Run', 'Suspend', 'Decommission'),
    retry: fc.boolean(),
    failed: fc.boolean(),
  }),
  { maxLength: 25 },
)

describe('any history', () => {
  const verbs = new Set(TENANT_EVENTS.filter((event) => !['installed', 'ready', 'timed_out'].includes(event)))
  /** One event that the operator sees, or any verbs of people, who may be faster than it. */
  const isAllowed = (from: TenantState, to: TenantState): boolean => {
    if (eventOfPhaseChange(from, to) !== undefined) return true
    const former: (TenantState | null)[] = [
      null,
      'pending',
      'provisioning',
      'active',
      'degraded',
      'suspended',
    ]
    const records = former.flatMap((suspendedFrom) =>
      former.map((decommissionedFrom) => ({
        state: from,
        suspendedFrom,
        decommissionedFrom,
        hasError: true,
      })),
    )
    const seen = new Map(records.map((record) => [JSON.stringify(record), record]))
    for (const record of seen.values()) {
      for (const event of verbs) {
        const result = nextTenantState(record, event)
        if (result.allowed) seen.set(JSON.stringify(result.next), result.next)
      }
    }
    return [...seen.values()].some((record) => record.state === to)
  }

  it('gives a status that the resource admits, a journal without gaps, and rest when nothing changes', () => {
    fc.assert(
      fc.property(steps, (history) => {
        let tenant = fresh()
        let seconds = 0
        let token = 0
        for (const { seen, after, desired, retry, failed } of history) {
          seconds += after
          if (retry) token += 1
          tenant = withSpec(tenant, { desired, retryToken: String(token) })
          const failure: StepFailure = {
            step: 'release',
            reason: 'InstallFailed',
            message: 'm',
            evidence: 'e',
          }
          const fails =
            failed && plan(tenant, seen, assess(tenant, seen, at(seconds)), at(seconds)).do === 'step'
          const [next] = pass(tenant, seen, at(seconds), fails ? failure : undefined)
          check(tenant, next)
          tenant = settle(next, seen, at(seconds))
          check(next, tenant)
          // Later, with the same cluster, only what time itself changes is written: here none passes.
          expect(pass(tenant, seen, at(seconds))[0]).toBe(tenant)
        }
      }),
      { numRuns: 400 },
    )
    function check(before: Tenant, after: Tenant): void {
      v.assert(TenantStatus, after.status)
      const journal = after.status.journal ?? []
      const known = before.status?.journal?.at(-1)?.seq ?? 0
      for (const [index, entry] of journal.entries()) {
        const previous = journal[index - 1]
        if (previous !== undefined) expect(entry.seq).toBe(previous.seq + 1)
        if (entry.kind === 'state.changed' && entry.seq > known) {
          expect(isAllowed(entry.from as TenantState, entry.to as TenantState)).toBe(true)
        }
      }
      for (const condition of after.status.conditions ?? []) {
        const former = before.status?.conditions?.find(({ type }) => type === condition.type)
        if (former?.status === condition.status) {
          expect(condition.lastTransitionTime).toBe(former.lastTransitionTime)
        }
      }
      const order = (after.status.steps ?? []).map(({ step }) => step)
      expect(order).toEqual(STEPS)
    }
  })
})

describe('a cluster that refuses to be looked at', () => {
  const refused = (tenant: Tenant, seconds = 1): Tenant => ({
    ...tenant,
    status: withRefusal(tenant, 'secrets is forbidden', at(seconds)),
  })
  it('is the failure until a look succeeds, told once, and rolls nothing back', () => {
    const [installed] = pass(fresh(), { ...NOTHING, namespace: OURS }, at(0))
    const told = refused(installed)
    expect(told.status?.failure).toMatchObject({ step: 'secrets', reason: 'Refused', retryToken: '0' })
    expect(conditionOf(told, 'Stalled')).toBe('True Refused')
    expect(sameStatus(told.status, withRefusal(told, 'secrets is forbidden', at(9)))).toBe(true)
    const [healed, next] = pass(told, { ...NOTHING, namespace: OURS }, at(20))
    expect(next).toEqual({ do: 'step', step: 'secrets' })
    expect(healed.status?.failure).toBeUndefined()
    expect(conditionOf(healed, 'Stalled')).toBeUndefined()
    expect(story(healed)).toEqual(story(installed))
  })
  it('does not hide a failure that is being rolled back or waits for a retry', () => {
    const failed = { step: 'release', reason: 'InstallFailed', message: 'no', evidence: '' } as const
    const [tenant] = pass(fresh(), { ...NOTHING, namespace: OURS, outdatedSecrets: [] }, at(0), failed)
    expect(refused(tenant).status?.failure).toMatchObject({ reason: 'InstallFailed' })
    const retried = { ...tenant, spec: { ...tenant.spec, retryToken: '1' } }
    expect(refused(retried).status?.failure).toMatchObject({ reason: 'InstallFailed' })
  })
})
