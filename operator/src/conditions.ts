import type { ConditionReason, ConditionType, Tenant, TenantCondition, TenantFailure } from '@service/crds'
import { STEPS, timestamp } from '@service/domain'
import type { Step, TenantState } from '@service/domain'
import { isPaused, LEAVES_SOMETHING, openStep, rollbackOf } from './plan.ts'
import type { Next, Verdict, Verdicts } from './plan.ts'

export type Summary = {
  readonly tenant: Tenant
  readonly verdicts: Verdicts
  readonly phase: TenantState
  readonly failure: TenantFailure | null
  readonly next: Next
  readonly now: Date
  /** Why the last act did not come off. */
  readonly trouble?: string
  /** How far the ordered teardown is. */
  readonly teardown?: { readonly message: string; readonly failed: boolean }
}
export type ConditionDraft = {
  readonly status: TenantCondition['status']
  readonly reason: ConditionReason
  readonly message: string
}

const STEP_CONDITIONS: { readonly [S in Step]: ConditionType } = {
  namespace: 'NamespaceReady',
  secrets: 'SecretsReady',
  release: 'ReleaseInstalled',
  workloads: 'WorkloadsReady',
  heartbeat: 'AdapterConnected',
}

/** The only place that computes conditions, among them `Ready`, `Reconciling` and `Stalled`. */
export function summarize(summary: Summary): TenantCondition[] {
  const { tenant, verdicts, failure, now } = summary
  const drafts = new Map<ConditionType, ConditionDraft>()
  const set = (type: ConditionType, draft: ConditionDraft | undefined): void => {
    if (draft !== undefined) drafts.set(type, draft)
  }
  set('Ready', ready(summary))
  set('Reconciling', reconciling(summary))
  set('Stalled', stalled(summary))
  for (const step of STEPS) {
    const failed = failure?.step === step && failure.reason !== 'TimedOut' ? failure : null
    set(STEP_CONDITIONS[step], stepCondition(verdicts[step], failed))
  }
  const suspended = summary.phase === 'suspended'
  set('Suspended', {
    status: suspended ? 'True' : 'False',
    reason: suspended ? 'Suspended' : 'NotSuspended',
    message: suspended ? 'The tenant is suspended; its workloads stay.' : 'The tenant is not suspended.',
  })
  return dateConditions(tenant.status?.conditions ?? [], drafts, tenant.metadata.generation ?? 0, now)
}

function stepCondition(verdict: Verdict, failed: TenantFailure | null): ConditionDraft {
  const { todo, reason, message } = verdict
  if (todo === 'none') return { status: 'True', reason, message }
  if (failed !== null) return { status: 'False', reason: failed.reason, message: failed.message }
  // What waits for an earlier step has not been looked at.
  return { status: reason === 'Waiting' ? 'Unknown' : 'False', reason, message }
}

function ready(summary: Summary): ConditionDraft {
  const { tenant, verdicts, phase, failure } = summary
  if (isPaused(tenant)) {
    return {
      status: 'Unknown',
      reason: 'Paused',
      message: 'Reconciliation is paused by annotation; what stands here may be old.',
    }
  }
  if (phase === 'decommissioning') {
    const message = summary.teardown?.message ?? 'The tenant is being decommissioned.'
    return { status: 'False', reason: 'Decommissioning', message }
  }
  if (phase === 'suspended') {
    return { status: 'False', reason: 'Suspended', message: 'The tenant is suspended.' }
  }
  if (failure !== null) return { status: 'False', reason: failure.reason, message: failure.message }
  const open = openStep(verdicts)
  if (open !== undefined) {
    return { status: 'False', reason: verdicts[open].reason, message: verdicts[open].message }
  }
  if (phase === 'active') return { status: 'True', reason: 'Succeeded', message: 'The tenant is active.' }
  return { status: 'False', reason: 'Progressing', message: `The tenant is ${phase}.` }
}

function reconciling(summary: Summary): ConditionDraft | undefined {
  const { tenant, verdicts, phase, failure, next, teardown, trouble } = summary
  if (isPaused(tenant)) return undefined
  if (isRollingBack(summary)) {
    const message = ['The failed installation is being removed.', trouble].filter(Boolean).join(' ')
    return { status: 'True', reason: 'Progressing', message }
  }
  if (failure !== null) return undefined
  if (teardown !== undefined) {
    if (teardown.failed) return undefined
    return { status: 'True', reason: 'Decommissioning', message: teardown.message }
  }
  const open = openStep(verdicts)
  if (next.do === 'step') {
    return { status: 'True', reason: 'Progressing', message: verdicts[next.step].message }
  }
  const moving = phase === 'pending' || phase === 'provisioning'
  if (!moving || open === undefined || verdicts[open].todo === 'blocked') return undefined
  return { status: 'True', reason: 'Waiting', message: verdicts[open].message }
}

/** Of a failure that has just been met, or one whose remains have not gone yet. */
const isRollingBack = ({ tenant, phase, failure, next }: Summary): boolean => {
  if (phase !== 'pending' || failure === null || !LEAVES_SOMETHING.includes(failure.reason)) return false
  if (next.do === 'roll-back') return next.act.do !== 'finished'
  return rollbackOf(tenant) === 'none' && next.do === 'step' && failure.retryToken === tenant.spec.retryToken
}

/** Not before a person acts, or at least looks. */
function stalled(summary: Summary): ConditionDraft | undefined {
  const { tenant, verdicts, phase, failure, teardown } = summary
  if (teardown?.failed === true) {
    return { status: 'True', reason: 'UninstallFailed', message: teardown.message }
  }
  if (isPaused(tenant) || phase === 'decommissioning' || isRollingBack(summary)) return undefined
  if (failure !== null) return { status: 'True', reason: failure.reason, message: failure.message }
  const blocked = STEPS.map((step) => verdicts[step]).find((verdict) => verdict.todo === 'blocked')
  if (blocked === undefined) return undefined
  return { status: 'True', reason: blocked.reason, message: blocked.message }
}

/** `lastTransitionTime` moves only when the status flips. */
export function dateConditions(
  former: readonly TenantCondition[],
  drafts: ReadonlyMap<ConditionType, ConditionDraft>,
  generation: number,
  now: Date,
): TenantCondition[] {
  return [...drafts].map(([type, { status, reason, message }]) => {
    const known = former.find((condition) => condition.type === type)
    return {
      type,
      status,
      observedGeneration: generation,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : timestamp(now),
      reason,
      message: message.slice(0, 4_096),
    }
  })
}
