import { isDeepStrictEqual } from 'node:util'
import type {
  ConditionReason,
  ConditionType,
  Tenant,
  TenantFailure,
  TenantStatus,
  TenantStepRecord,
} from '@service/crds'
import { namespaceOf, RELEASE_NAME, STEPS, timestamp } from '@service/domain'
import type { Step, TenantState } from '@service/domain'
import { dateConditions, summarize } from './conditions.ts'
import type { ConditionDraft, Summary } from './conditions.ts'
import { appendEntries } from './journal.ts'
import type { NewEntry } from './journal.ts'
import type { Observation, ReleaseSeen } from './observation.ts'
import { nextPhase, openStep, retryRequested, rollbackOf } from './plan.ts'
import type { Next, Verdicts } from './plan.ts'

const INSTALLING: readonly Step[] = ['namespace', 'secrets', 'release']
const WAITING: readonly Step[] = STEPS.filter((step) => !INSTALLING.includes(step))

export type StepFailure = {
  readonly step: Step
  readonly reason: ConditionReason
  readonly message: string
  readonly evidence: string
}

export type StatusInput = {
  readonly tenant: Tenant
  readonly verdicts: Verdicts
  readonly next: Next
  readonly now: Date
  /** In place of the profile's. */
  readonly timeoutMs?: number | undefined
  readonly release: ReleaseSeen | null
  /** A namespace that was there is gone. */
  readonly namespaceLost: boolean
  /** What the step that was just tried ended with. */
  readonly failed?: StepFailure
  /** What was seen, for the journal, when the readiness timeout strikes. */
  readonly evidence?: string
  /** Why the last act did not come off; it is tried again. */
  readonly trouble?: string
  readonly teardown?: NonNullable<Summary['teardown']> & { readonly entries: readonly NewEntry[] }
}

/**
 * The whole status that follows from what is seen and what is done next. Written before the act. Equal to the present one
 * when nothing has changed.
 */
export function nextStatus(given: StatusInput): TenantStatus {
  const input = { ...given, verdicts: withTrouble(given) }
  const { tenant, verdicts, now, release, trouble } = input
  const { release: formerRelease, ...former } = tenant.status ?? {}
  const phase = nextPhase(tenant, verdicts, now, given.timeoutMs)
  const failure = nextFailure(input, phase)
  const steps = nextSteps(input, phase, failure)
  const entriesOf = (some: readonly Step[]) =>
    stepEntries(
      former.steps ?? [],
      steps.filter(({ step }) => some.includes(step)),
      input,
    )
  const change = phaseEntries(input, phase)
  // The waiting of a provisioning tenant is told after its installation, also when both are seen at once.
  const [before, after] = phase === 'provisioning' ? [change, []] : [[], change]
  const entries = [
    ...entriesOf(INSTALLING),
    ...before,
    ...entriesOf(WAITING),
    ...upgradeEntries(input, phase),
    ...rollbackEntries(input),
    ...(input.namespaceLost ? [{ kind: 'namespace.missing' as const }] : []),
    ...after,
    ...(input.teardown?.entries ?? []),
  ]
  const { next, teardown } = input
  const extra = { ...(teardown && { teardown }), ...(trouble === undefined ? {} : { trouble }) }
  const summary = { tenant, verdicts, phase, failure, next, now, ...extra }
  const shown = release === null ? (phase === 'pending' ? undefined : formerRelease) : releaseStatus(release)
  return compact({
    ...former,
    phase,
    observedRevision: tenant.spec.revision,
    observedGeneration: tenant.metadata.generation ?? 0,
    namespace: namespaceOf(tenant.metadata.name),
    conditions: summarize(summary),
    steps,
    failure,
    ...(shown === undefined ? {} : { release: shown }),
    journal: appendEntries(former.journal ?? [], entries, now),
  })
}

export const sameStatus = (one: TenantStatus | undefined, other: TenantStatus): boolean =>
  isDeepStrictEqual(compact(one ?? {}), compact(other))

/** Absent, `null` and `undefined` are the same thing on the server. */
function compact(status: TenantStatus): TenantStatus {
  const { failure, ...rest } = status
  return JSON.parse(JSON.stringify(failure === null || failure === undefined ? rest : { ...rest, failure }))
}

const releaseStatus = ({ ours: _ours, ...release }: ReleaseSeen) => ({ name: RELEASE_NAME, ...release })

/** An act that is tried again says why it has to be. */
function withTrouble({ verdicts, next, trouble }: StatusInput): Verdicts {
  if (trouble === undefined || next.do !== 'step') return verdicts
  return { ...verdicts, [next.step]: { ...verdicts[next.step], reason: 'ApiError', message: trouble } }
}

function nextFailure(input: StatusInput, phase: TenantState): TenantFailure | null {
  const { tenant, verdicts, now, failed } = input
  const { retryToken } = tenant.spec
  const at = timestamp(now)
  const rollback = rollbackOf(tenant)
  if (rollback === 'open') return tenant.status?.failure ?? null
  const former = retryRequested(tenant) ? null : (tenant.status?.failure ?? null)
  if (rollback === 'done' && former !== null) return former
  const refused = failed ?? (phase === 'pending' ? blockedFailure(verdicts) : undefined)
  if (refused !== undefined) {
    const { step, reason, message } = refused
    const same = former?.step === step && former.reason === reason && former.message === message
    return same ? former : { step, reason, message, at, retryToken }
  }
  if (phase === 'degraded' && tenant.status?.phase === 'provisioning') {
    const step = openStep(verdicts) ?? 'heartbeat'
    return { step, reason: 'TimedOut', message: verdicts[step].message, at, retryToken }
  }
  if (former?.reason === 'TimedOut') return phase === 'degraded' || phase === 'suspended' ? former : null
  if (former !== null && BLOCKING.includes(former.reason)) return null
  return former !== null && verdicts[former.step].todo === 'none' ? null : former
}

/** Reasons that hold as long as they are seen. */
const BLOCKING: readonly ConditionReason[] = [
  'Conflict',
  'ForeignOperation',
  'InvalidConfiguration',
  'Refused',
]

/** Before anything is installed, what blocks is the failure of the tenant; afterwards only conditions tell of it. */
function blockedFailure(verdicts: Verdicts): Omit<StepFailure, 'evidence'> | undefined {
  const step = STEPS.find((each) => verdicts[each].todo === 'blocked')
  if (step === undefined) return undefined
  const { reason, message } = verdicts[step]
  return { step, reason, message }
}

const isRolledBack = ({ next }: StatusInput): boolean => next.do === 'roll-back' && next.act.do === 'finished'

/** One for each failure that was rolled back, when release and namespace have been seen to be gone. */
function rollbackEntries(input: StatusInput): NewEntry[] {
  const step = input.tenant.status?.failure?.step
  return isRolledBack(input) ? [{ kind: 'rolled_back', ...(step === undefined ? {} : { step }) }] : []
}

/** What has been done once stays done: afterwards the conditions tell how things are. */
function nextSteps(
  input: StatusInput,
  phase: TenantState,
  failure: TenantFailure | null,
): TenantStepRecord[] {
  const { tenant, verdicts, now } = input
  const records = tenant.status?.steps ?? []
  const rollback = rollbackOf(tenant)
  if (isRolledBack(input))
    return records.map((record) => (record.status === 'done' ? untouched(record) : record))
  if (rollback === 'open' || (rollback === 'done' && failure !== null)) return [...records]
  const former = new Map(rollback === 'done' ? [] : records.map((record) => [record.step, record] as const))
  const at = timestamp(now)
  let reached = true
  return STEPS.map((step) => {
    const record = former.get(step) ?? { step, status: 'waiting' as const }
    if (record.status === 'done') return record
    // Behind a step that is not done, and in a tenant that is being taken down, nothing begins.
    if (!reached || phase === 'decommissioning') return record
    const { startedAt = at } = record
    if (verdicts[step].todo === 'none') return { step, status: 'done', startedAt, finishedAt: at }
    reached = false
    if (failure?.step === step) return failedStep(record, failure, startedAt)
    const message = verdicts[step].message.slice(0, 1_024)
    if (record.status === 'failed') return { step, status: 'running', startedAt: at, message }
    return { step, status: 'running', startedAt, message }
  })
}

/** What was done and is gone again has not been begun. */
const untouched = ({ step }: TenantStepRecord): TenantStepRecord => ({ step, status: 'waiting' })

function failedStep(record: TenantStepRecord, failure: TenantFailure, startedAt: string): TenantStepRecord {
  const message = failure.message.slice(0, 1_024)
  return { step: record.step, status: 'failed', startedAt, finishedAt: failure.at, message }
}

/** Each change of a step's record is one entry: that is why nothing is recorded twice, whoever dies in between. */
function stepEntries(
  former: readonly TenantStepRecord[],
  steps: readonly TenantStepRecord[],
  { failed, evidence }: StatusInput,
): NewEntry[] {
  return steps.flatMap((record) => {
    const before = former.find((each) => each.step === record.step)
    const { step, status } = record
    const begun = before !== undefined && before.status !== 'waiting'
    const again = before?.status === 'failed' && status === 'running'
    const entries: NewEntry[] = []
    if ((!begun && status !== 'waiting') || again) entries.push({ kind: 'step.started', step })
    if (status === 'done' && before?.status !== 'done') entries.push({ kind: 'step.done', step })
    const anotherFailure = before?.status !== 'failed' || before.finishedAt !== record.finishedAt
    if (status === 'failed' && anotherFailure) {
      entries.push({ kind: 'step.failed', step, ...withEvidence(failed?.evidence ?? evidence) })
    }
    return entries
  })
}

const withEvidence = (evidence: string | undefined): { evidence?: string } =>
  evidence === undefined || evidence === '' ? {} : { evidence }

/** After the first installation a run of helm is an upgrade; each has a beginning and one end. */
function upgradeEntries({ tenant, verdicts, next, failed }: StatusInput, phase: TenantState): NewEntry[] {
  const installed = tenant.status?.steps?.find((record) => record.step === 'release')?.status === 'done'
  if (!installed || phase === 'pending') return []
  const last = (tenant.status?.journal ?? []).findLast((entry) => entry.kind.startsWith('upgrade.'))?.kind
  const open = last === 'upgrade.started' || last === 'upgrade.failed'
  if (failed?.step === 'release') {
    const known = tenant.status?.failure?.message === failed.message && last === 'upgrade.failed'
    return known ? [] : [{ kind: 'upgrade.failed', step: 'release', ...withEvidence(failed.evidence) }]
  }
  if (open && verdicts.release.todo === 'none') return [{ kind: 'upgrade.done', step: 'release' }]
  const begins = next.do === 'step' && next.step === 'release' && !open
  return begins ? [{ kind: 'upgrade.started', step: 'release' }] : []
}

function phaseEntries({ tenant, evidence }: StatusInput, phase: TenantState): NewEntry[] {
  const from = tenant.status?.phase ?? 'pending'
  if (from === phase) return []
  return [{ kind: 'state.changed', from, to: phase, ...(phase === 'degraded' ? withEvidence(evidence) : {}) }]
}

/** While paused or of no use otherwise: the present status with other conditions. */
export function withCondition(
  tenant: Tenant,
  drafts: ReadonlyMap<ConditionType, ConditionDraft>,
  now: Date,
): TenantStatus {
  const former = tenant.status ?? {}
  const generation = tenant.metadata.generation ?? 0
  const dated = dateConditions(former.conditions ?? [], drafts, generation, now)
  const kept = (former.conditions ?? []).filter(({ type }) => !drafts.has(type))
  return compact({ ...former, phase: former.phase ?? 'pending', conditions: [...dated, ...kept] })
}

/**
 * The cluster refuses to be looked at: the present status with that as its failure, until a look succeeds. A failure that
 * a rollback goes by, or that waits for a retry, stays.
 */
export function withRefusal(tenant: Tenant, message: string, now: Date): TenantStatus {
  const draft = (status: 'True' | 'False') => ({ status, reason: 'Refused', message }) as const
  const drafts = new Map([['Ready', draft('False')] as const, ['Stalled', draft('True')] as const])
  const status = withCondition(tenant, drafts, now)
  const former = tenant.status?.failure ?? null
  const past = retryRequested(tenant) && rollbackOf(tenant) !== 'open'
  if (former !== null && former.reason !== 'Refused' && !past) return status
  const { retryToken } = tenant.spec
  if (former?.reason === 'Refused' && former.message === message && former.retryToken === retryToken)
    return status
  const done = (step: Step): boolean =>
    tenant.status?.steps?.some((record) => record.step === step && record.status === 'done') === true
  const step = STEPS.find((each) => !done(each)) ?? 'namespace'
  return { ...status, failure: { step, reason: 'Refused', message, at: timestamp(now), retryToken } }
}

/** Evidence is worth collecting when this pass would degrade the tenant. */
export const willDegrade = ({
  tenant,
  verdicts,
  now,
  timeoutMs,
}: Pick<StatusInput, 'tenant' | 'verdicts' | 'now' | 'timeoutMs'>): boolean =>
  tenant.status?.phase === 'provisioning' && nextPhase(tenant, verdicts, now, timeoutMs) === 'degraded'

/** It was there, or was going, when we looked last; the condition that follows is neither, so this holds only once. */
export const lostNamespace = (tenant: Tenant, seen: Observation): boolean => {
  const { phase = 'pending', conditions = [] } = tenant.status ?? {}
  if (seen.namespace.state !== 'absent' || phase === 'pending' || phase === 'decommissioning') return false
  const known = conditions.find(({ type }) => type === 'NamespaceReady')
  return known?.status === 'True' || known?.reason === 'Terminating'
}
