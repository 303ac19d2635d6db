import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  eventOfPhaseChange,
  nextTenantState,
  TENANT_EVENTS,
  TENANT_STATES,
  type TenantEvent,
  type TenantStateRecord,
} from './tenant-state.ts'

const created: TenantStateRecord = {
  state: 'pending',
  suspendedFrom: null,
  decommissionedFrom: null,
  hasError: false,
}
const at = (state: TenantStateRecord['state'], over: Partial<TenantStateRecord> = {}): TenantStateRecord => ({
  ...created,
  state,
  ...over,
})
const walk = (events: readonly TenantEvent[]): TenantStateRecord =>
  events.reduce((current, event) => {
    const result = nextTenantState(current, event)
    return result.allowed ? result.next : current
  }, created)
const anyWalk = fc.array(fc.constantFrom(...TENANT_EVENTS), { maxLength: 40 })

describe('nextTenantState', () => {
  it.each([
    ['pending', 'installed', 'provisioning'],
    ['provisioning', 'ready', 'active'],
    ['provisioning', 'timed_out', 'degraded'],
    ['pending', 'install_failed', 'pending'],
    ['degraded', 'retry', 'provisioning'],
    ['provisioning', 'suspend', 'suspended'],
    ['active', 'suspend', 'suspended'],
    ['degraded', 'suspend', 'suspended'],
    ['provisioning', 'degrade', 'degraded'],
    ['active', 'degrade', 'degraded'],
  ] as const)('moves %s by %s to %s', (from, event, to) => {
    expect(nextTenantState(at(from), event)).toMatchObject({ allowed: true, next: { state: to } })
  })

  it.each([
    ['pending', 'suspend'],
    ['pending', 'ready'],
    ['pending', 'degrade'],
    ['active', 'retry'],
    ['active', 'installed'],
    ['active', 'timed_out'],
    ['suspended', 'suspend'],
    ['suspended', 'ready'],
    ['decommissioning', 'decommission'],
    ['decommissioning', 'resume'],
  ] as const)('refuses %s by %s and names the current state', (from, event) => {
    expect(nextTenantState(at(from), event)).toEqual({ allowed: false, currentState: from })
  })

  it('retries a pending tenant only after an error', () => {
    expect(nextTenantState(created, 'retry').allowed).toBe(false)
    expect(nextTenantState(at('pending', { hasError: true }), 'retry')).toMatchObject({
      allowed: true,
      next: { state: 'pending', hasError: false },
    })
  })

  it.each(TENANT_STATES.filter((state) => state !== 'decommissioning'))(
    'decommissions from %s and comes back to it',
    (state) => {
      const gone = nextTenantState(at(state), 'decommission')
      if (!gone.allowed) throw new Error('refused')
      expect(nextTenantState(gone.next, 'cancel_decommission')).toMatchObject({ next: { state } })
    },
  )

  it('resumes to the state that suspend left, whatever happened before', () => {
    fc.assert(
      fc.property(anyWalk, (events) => {
        const before = walk(events)
        const suspended = nextTenantState(before, 'suspend')
        fc.pre(suspended.allowed)
        expect(nextTenantState(suspended.next, 'resume')).toMatchObject({
          allowed: true,
          next: { state: before.state, suspendedFrom: null },
        })
      }),
    )
  })

  it('remembers where to come back to exactly while it may', () => {
    fc.assert(
      fc.property(anyWalk, (events) => {
        const record = walk(events)
        const inDecommission = record.state === 'decommissioning'
        expect(record.decommissionedFrom !== null).toBe(inDecommission)
        const suspendedSomewhere =
          record.state === 'suspended' || (inDecommission && record.decommissionedFrom === 'suspended')
        expect(record.suspendedFrom !== null).toBe(suspendedSomewhere)
      }),
    )
  })

  it('reaches every state from pending', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(anyWalk, (events) => {
        seen.add(walk(events).state)
      }),
      { numRuns: 500 },
    )
    expect([...seen].toSorted()).toEqual([...TENANT_STATES].toSorted())
  })
})

describe('eventOfPhaseChange', () => {
  it('knows only the changes that the operator decides', () => {
    const known = TENANT_STATES.flatMap((from) =>
      TENANT_STATES.flatMap((to) => {
        const event = eventOfPhaseChange(from, to)
        return event === undefined ? [] : [`${from} ${event} ${to}`]
      }),
    )
    expect(known).toEqual([
      'pending installed provisioning',
      'provisioning ready active',
      'provisioning timed_out degraded',
    ])
  })
})
