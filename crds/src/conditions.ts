import * as v from 'valibot'
import { integer, text, time } from './kubernetes.ts'

/** The condition types of a Tenant (decision 8.5). `Reconciling` and `Stalled` stand only while they hold. */
export const CONDITION_TYPES = [
  'Ready',
  'Reconciling',
  'Stalled',
  'NamespaceReady',
  'SecretsReady',
  'ReleaseInstalled',
  'WorkloadsReady',
  'AdapterConnected',
  'Suspended',
  'Drifted',
] as const

/** Closed list of reasons, each with an entry in the runbook. */
export const CONDITION_REASONS = [
  'Succeeded',
  'Progressing',
  'Waiting',
  'Created',
  'Conflict',
  'Terminating',
  'Missing',
  'MaterialMissing',
  'MaterialStale',
  'Copied',
  'Installed',
  'InstallFailed',
  'ForeignOperation',
  'InvalidConfiguration',
  'Available',
  'PodsNotReady',
  'Connected',
  'HeartbeatMissing',
  'HeartbeatStale',
  'TimedOut',
  'Paused',
  'Suspended',
  'NotSuspended',
  'Decommissioning',
  'UninstallFailed',
  'NotDrifted',
  'Drifted',
  'ApiError',
  'Refused',
] as const

/** `metav1.Condition` with the types and reasons of a Tenant. */
export const Condition = v.pipe(
  v.object({
    type: v.pipe(v.picklist(CONDITION_TYPES), v.description('Type of the condition.')),
    status: v.pipe(v.picklist(['True', 'False', 'Unknown']), v.description('Status of the condition.')),
    observedGeneration: integer(
      0,
      Number.MAX_SAFE_INTEGER,
      'Generation of the resource that this condition speaks of.',
    ),
    lastTransitionTime: time('When the status last flipped.'),
    reason: v.pipe(
      v.picklist(CONDITION_REASONS),
      v.description('Stable reason, with an entry in the runbook.'),
    ),
    message: text(4096, 'One sentence for people, with the next action where there is one.'),
  }),
  v.description('One condition.'),
)

export type TenantCondition = v.InferOutput<typeof Condition>
export type ConditionType = (typeof CONDITION_TYPES)[number]
export type ConditionReason = (typeof CONDITION_REASONS)[number]
