import type { Tenant } from '@service/crds'
import { describe, expect, it } from 'vitest'
import { at, fresh, INSTALLED, NOTHING, OURS, pass, READY, RELEASE, withSpec } from '../test/passes.ts'
import { conditionOf } from '../test/tenant.ts'
import type { Observation } from './observation.ts'
import { planTeardown, teardownOrdered } from './plan.ts'

describe('the plan', () => {
  it('takes one step after the other', () => {
    const wanted: [Observation, unknown][] = [
      [NOTHING, { do: 'step', step: 'namespace' }],
      [
        { ...NOTHING, namespace: OURS },
        { do: 'step', step: 'secrets' },
      ],
      [
        { ...NOTHING, namespace: OURS, outdatedSecrets: [] },
        { do: 'step', step: 'release' },
      ],
    ]
    for (const [seen, next] of wanted) expect(pass(fresh(), seen, at(0))[1]).toEqual(next)
    expect(pass(fresh(), INSTALLED, at(0))[1].do).toBe('rest')
  })

  it('does nothing to a namespace of somebody else, nor in it', () => {
    const seen = { ...READY, namespace: { state: 'foreign', tenantId: 'x', going: false } } as const
    const [tenant, next] = pass(fresh(), seen, at(0))
    expect(next.do).toBe('rest')
    expect(conditionOf(tenant, 'NamespaceReady')).toBe('False Conflict')
    expect(conditionOf(tenant, 'Stalled')).toBe('True Conflict')
    expect(planTeardown(seen)).toEqual({ do: 'finished' })
  })

  it('does nothing at all for a tenant that lives elsewhere', () => {
    const remote = withSpec(fresh(), { placement: 'remote' })
    for (const seen of [NOTHING, INSTALLED, READY]) {
      const [tenant, next] = pass(remote, seen, at(0))
      expect(next.do).toBe('rest')
      expect(tenant.status?.phase).toBe('pending')
    }
  })

  it('runs helm again over its own interrupted run, and leaves one of others alone', () => {
    const pending = { ...RELEASE, status: 'pending-install' }
    const own = { ...INSTALLED, release: { ...pending, ours: true } }
    expect(pass(fresh(), own, at(0))[1]).toEqual({ do: 'step', step: 'release' })
    const [tenant, next] = pass(fresh(), { ...INSTALLED, release: pending }, at(0))
    expect(next.do).toBe('rest')
    expect(conditionOf(tenant, 'ReleaseInstalled')).toBe('False ForeignOperation')
  })

  it('waits for material that is missing, old or incomplete', () => {
    const reasons = (
      [{ state: 'missing' }, { state: 'stale', revision: 0 }, { state: 'incomplete', keys: ['a.b'] }] as const
    ).map((material) => {
      const [tenant, next] = pass(fresh(), { ...NOTHING, namespace: OURS, material }, at(0))
      expect(next.do).toBe('rest')
      return conditionOf(tenant, 'SecretsReady')
    })
    expect(reasons).toEqual(['False MaterialMissing', 'False MaterialStale', 'False MaterialMissing'])
  })

  it('tears down only by an order that names tenant and object', () => {
    const { tenantId } = fresh().spec
    const order = (teardown: Tenant['spec']['teardown'], desired: 'Run' | 'Decommission') =>
      teardownOrdered(withSpec(fresh(), { desired, ...(teardown && { teardown }) }))
    expect(order({ tenantId, uid: 'u1', force: false }, 'Decommission')).toBe(true)
    expect(order({ tenantId, uid: 'u2', force: false }, 'Decommission')).toBe(false)
    expect(order({ tenantId: 'other', uid: 'u1', force: true }, 'Decommission')).toBe(false)
    expect(order({ tenantId, uid: 'u1', force: false }, 'Run')).toBe(false)
    expect(order(undefined, 'Decommission')).toBe(false)
  })

  it('takes the release down before the namespace', () => {
    expect(planTeardown(READY)).toEqual({ do: 'uninstall' })
    expect(planTeardown({ ...READY, release: null })).toEqual({ do: 'delete-namespace', uid: 'n1' })
    const blocked = { state: 'terminating', uid: 'n1', blockers: ['a finalizer remains'] } as const
    expect(planTeardown({ namespace: blocked, release: null })).toMatchObject({ do: 'wait' })
    expect(planTeardown({ namespace: { state: 'absent' }, release: null })).toEqual({ do: 'finished' })
  })
})
