import { TENANT_EVENTS, TENANT_STATES, nextTenantState } from '@service/domain'
import type { TenantEvent, TenantState, TenantStateRecord } from '@service/domain'
import type { Rule } from './kubernetes.ts'

/** What the operator sees by itself; it writes each of these changes, so that none is missing from the journal. */
const SEEN: readonly TenantEvent[] = ['installed', 'ready', 'timed_out', 'install_failed']
const VERBS = TENANT_EVENTS.filter((event) => !SEEN.includes(event))

/**
 * The changes of `status.phase` that the domain's table allows: one event seen by the operator, or any row of verbs,
 * since the operator may meet several verbs at once.
 */
export function phaseChanges(): Record<TenantState, TenantState[]> {
  const records = [
    ...reachable(
      [
        { ...FRESH, hasError: false },
        { ...FRESH, hasError: true },
      ],
      TENANT_EVENTS,
    ),
  ]
  const changes = TENANT_STATES.map((state): [TenantState, TenantState[]] => {
    const starts = records.filter((record) => record.state === state)
    const after = new Set(
      [...reachable(starts, VERBS), ...starts.flatMap((start) => step(start, SEEN))].map(
        (next) => next.state,
      ),
    )
    return [state, TENANT_STATES.filter((next) => next !== state && after.has(next))]
  })
  return Object.fromEntries(changes) as Record<TenantState, TenantState[]>
}

/** The CEL rule of `status.phase`. */
export function phaseRule(): Rule {
  const table = Object.entries(phaseChanges()).map(
    ([from, to]) => `'${from}': [${to.map((state) => `'${state}'`).join(', ')}]`,
  )
  return {
    rule: `self == oldSelf || self in {${table.join(', ')}}[oldSelf]`,
    message: 'this change of phase does not exist',
  }
}

const FRESH = { state: 'pending', suspendedFrom: null, decommissionedFrom: null } as const

function reachable(
  starts: readonly TenantStateRecord[],
  events: readonly TenantEvent[],
): readonly TenantStateRecord[] {
  const seen = new Map(starts.map((record) => [JSON.stringify(record), record]))
  // A Map also visits what is added while it is walked.
  for (const record of seen.values())
    for (const next of step(record, events)) seen.set(JSON.stringify(next), next)
  return [...seen.values()]
}

function step(record: TenantStateRecord, events: readonly TenantEvent[]): TenantStateRecord[] {
  return events
    .map((event) => nextTenantState(record, event))
    .flatMap((transition) => (transition.allowed ? [transition.next] : []))
}
