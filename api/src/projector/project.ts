import { isDeepStrictEqual } from 'node:util'
import type { JournalEntry, TenantFailure, TenantStatus } from '@service/crds'
import {
  eventOfPhaseChange,
  type LifecycleKind,
  nextTenantState,
  TENANT_STATES,
  type TenantEvent,
  type TenantState,
  type TenantStateRecord,
} from '@service/domain'
import type { InstallationRow, StatusRow, TenantRow } from '../verbs/tenant/rows.ts'

/** What the database knows of a tenant before a status is taken over. */
export type Known = {
  readonly tenant: Pick<
    TenantRow,
    | 'state'
    | 'stateReason'
    | 'stateChangedAt'
    | 'suspendedFrom'
    | 'decommissionedFrom'
    | 'stateRevision'
    | 'retryToken'
    | 'error'
  >
  readonly status: Pick<StatusRow, 'crUid' | 'observedRevision' | 'conditions' | 'steps'> | null
  readonly installation: InstallationPart | null
  /** Journal entries of this resource that are lifecycle rows already. */
  readonly storedSeqs: ReadonlySet<number>
}
export type Observed = { readonly uid: string; readonly status: TenantStatus }

type InstallationPart = Pick<
  InstallationRow,
  'chartVersion' | 'revision' | 'status' | 'valuesDigest' | 'manifestDigest' | 'installedAt' | 'lastError'
>
export type LifecycleDraft = {
  readonly at: Date
  readonly kind: LifecycleKind
  readonly from: TenantState | null
  readonly to: TenantState | null
  readonly details: Readonly<Record<string, unknown>>
  /** `null` for a change that the journal does not hold. */
  readonly seq: number | null
}
export type Move = { readonly from: TenantState; readonly to: TenantState; readonly at: Date }
export type Changes = {
  readonly lifecycle: readonly LifecycleDraft[]
  readonly moves: readonly Move[]
  readonly tenant: Partial<TenantRow> | null
  readonly status: NonNullable<Known['status']> | null
  readonly installation: InstallationPart | null
}

/**
 * Status of the resource -> what to write. Pure, and empty when everything has been written before, so that it may be
 * replayed, coalesced and run by several replicas. Entries that do not fit the row's state are recorded and move nothing.
 */
export function projectStatus(known: Known, observed: Observed, now: Date): Changes {
  const { status } = observed
  const fresh = (status.journal ?? [])
    .filter((entry) => !known.storedSeqs.has(entry.seq) && !followsVerb(entry))
    .toSorted((a, b) => a.seq - b.seq)
  // Decision 8.4: what was seen before the last verb says nothing about the state after it.
  const current = (status.observedRevision ?? 0) >= known.tenant.stateRevision
  const walk = startOf(known)
  const lifecycle = fresh.map((entry) => {
    if (current && entry.kind === 'state.changed') follow(walk, entry)
    return draftOf(entry)
  })
  const phase = status.phase
  const failure = failureOf(known, status)
  if (current && phase !== undefined) lifecycle.push(...catchUp(walk, phase, now))
  return {
    lifecycle,
    moves: walk.moves,
    tenant: tenantChange(known, walk, failure),
    status: statusChange(known, observed),
    installation: installationChange(known, status.release, failure, now),
  }
}

export const isNothing = (changes: Changes): boolean =>
  changes.lifecycle.length === 0 &&
  changes.tenant === null &&
  changes.status === null &&
  changes.installation === null

type Walk = { record: TenantStateRecord; readonly moves: Move[] }

const startOf = ({ tenant }: Known): Walk => ({
  record: {
    state: tenant.state,
    suspendedFrom: tenant.suspendedFrom,
    decommissionedFrom: tenant.decommissionedFrom,
    hasError: tenant.error !== null,
  },
  moves: [],
})

/** A change that the operator makes because a verb has ordered it: the verb wrote the row of this transition. */
const followsVerb = ({ kind, from, to }: JournalEntry): boolean =>
  kind === 'state.changed' &&
  from !== undefined &&
  to !== undefined &&
  eventOfPhaseChange(from, to) === undefined

/** One change of the journal, when it leads from where the row stands. */
function follow(walk: Walk, entry: JournalEntry): void {
  if (entry.from !== walk.record.state || entry.to === undefined) return
  const event = eventOfPhaseChange(entry.from, entry.to)
  if (event !== undefined) step(walk, event, new Date(entry.at))
}

function step(walk: Walk, event: TenantEvent, at: Date): void {
  const transition = nextTenantState(walk.record, event)
  if (!transition.allowed) return
  walk.moves.push({ from: walk.record.state, to: transition.next.state, at })
  walk.record = transition.next
}

/** The phase is ahead of all that the journal still holds: the changes between are made good. */
function catchUp(walk: Walk, phase: TenantState, now: Date): LifecycleDraft[] {
  return pathBetween(walk.record.state, phase).flatMap((event) => {
    const before = walk.moves.length
    step(walk, event, now)
    return walk.moves.slice(before).map(({ from, to, at }) => ({
      at,
      kind: 'state.changed' as const,
      from,
      to,
      details: { source: 'phase' },
      seq: null,
    }))
  })
}

/** The shortest way over changes that the operator can make; empty when there is none. */
function pathBetween(from: TenantState, to: TenantState): TenantEvent[] {
  const paths = new Map<TenantState, TenantEvent[]>([[from, []]])
  // A Map also visits what is added while it is walked.
  for (const [state, path] of paths)
    for (const next of TENANT_STATES) {
      const event = eventOfPhaseChange(state, next)
      if (event !== undefined && !paths.has(next)) paths.set(next, [...path, event])
    }
  return paths.get(to) ?? []
}

const draftOf = (entry: JournalEntry): LifecycleDraft => ({
  at: new Date(entry.at),
  kind: entry.kind,
  from: entry.from ?? null,
  to: entry.to ?? null,
  details: {
    ...(entry.step === undefined ? {} : { step: entry.step }),
    ...(entry.evidence === undefined ? {} : { evidence: entry.evidence }),
  },
  seq: entry.seq,
})

/** A failure counts until somebody asks for another try. */
function failureOf({ tenant }: Known, status: TenantStatus): TenantFailure | null {
  const failure = status.failure ?? null
  return failure !== null && failure.retryToken === tenant.retryToken ? failure : null
}

function tenantChange(known: Known, walk: Walk, error: TenantFailure | null): Partial<TenantRow> | null {
  const last = walk.moves.at(-1)
  const moved =
    last === undefined
      ? {}
      : {
          state: walk.record.state,
          stateChangedAt: last.at,
          stateReason: walk.record.state === 'degraded' ? (error?.reason ?? null) : null,
          suspendedFrom: walk.record.suspendedFrom,
          decommissionedFrom: walk.record.decommissionedFrom,
        }
  const failed = isDeepStrictEqual(error, known.tenant.error) ? {} : { error }
  const change = { ...moved, ...failed }
  return Object.keys(change).length === 0 ? null : change
}

function statusChange(known: Known, { uid, status }: Observed): Changes['status'] {
  const next = {
    crUid: uid,
    observedRevision: status.observedRevision ?? 0,
    conditions: status.conditions ?? [],
    steps: status.steps ?? [],
  }
  return isDeepStrictEqual(next, known.status) ? null : next
}

function installationChange(
  known: Known,
  release: TenantStatus['release'],
  failure: TenantFailure | null,
  now: Date,
): InstallationPart | null {
  if (known.installation === null) return null
  const next: InstallationPart = {
    chartVersion: release?.chartVersion ?? null,
    revision: release?.revision ?? null,
    status: release?.status ?? null,
    valuesDigest: release?.valuesDigest ?? null,
    manifestDigest: release?.manifestDigest ?? null,
    installedAt: release === undefined ? null : (known.installation.installedAt ?? now),
    lastError: failure?.step === 'release' ? failure.message : null,
  }
  return isDeepStrictEqual(next, known.installation) ? null : next
}
