import * as fc from 'fast-check'
import { TENANT_EVENTS, nextTenantState } from '@service/domain'
import type { TenantEvent, TenantState, TenantStateRecord } from '@service/domain'
import { describe, expect, it } from 'vitest'
import { phaseChanges } from './phase-rule.ts'

const FRESH: TenantStateRecord = {
  state: 'pending',
  suspendedFrom: null,
  decommissionedFrom: null,
  hasError: false,
}
const SEEN: readonly TenantEvent[] = ['installed', 'ready', 'timed_out', 'install_failed']

describe('the changes of phase', () => {
  const changes = phaseChanges()

  it('leave out what never happens', () => {
    const never: [TenantState, TenantState][] = [
      ['pending', 'active'],
      ['pending', 'degraded'],
      ['pending', 'suspended'],
      ['provisioning', 'pending'],
      ['active', 'pending'],
      ['degraded', 'active'],
      ['degraded', 'pending'],
      ['suspended', 'pending'],
    ]
    for (const [from, to] of never) expect(changes[from], `${from} to ${to}`).not.toContain(to)
  })

  it('admit what an operator writes that sees some events together with later verbs', () => {
    const events = fc.array(fc.constantFrom(...TENANT_EVENTS), { maxLength: 20 })
    fc.assert(
      fc.property(events, fc.infiniteStream(fc.boolean()), (events, looks) => {
        let row = FRESH
        let phase = row.state
        for (const event of events) {
          const seen = SEEN.includes(event)
          // What the operator sees by itself, it has written when the next event comes.
          if (seen && phase !== row.state) continue
          const transition = nextTenantState(row, event)
          if (transition.allowed) row = transition.next
          if (phase !== row.state && (seen || looks.next().value === true)) {
            expect(changes[phase]).toContain(row.state)
            phase = row.state
          }
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
