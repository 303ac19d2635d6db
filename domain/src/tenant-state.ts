/** The six states of S "States and transitions / Tenant". */
export const TENANT_STATES = [
  'pending',
  'provisioning',
  'active',
  'degraded',
  'suspended',
  'decommissioning',
] as const
export type TenantState = (typeof TENANT_STATES)[number]

/** What may move a tenant. The first four are seen by the operator, the others are verbs of people (decision 3.7). */
export const TENANT_EVENTS = [
  'installed',
  'ready',
  'timed_out',
  'install_failed',
  'retry',
  'suspend',
  'resume',
  'degrade',
  'decommission',
  'cancel_decommission',
] as const
export type TenantEvent = (typeof TENANT_EVENTS)[number]

/** A state to come back to: `from` is the state that `suspend` or `decommission` left. */
export type TenantStateRecord = {
  readonly state: TenantState
  readonly suspendedFrom: TenantState | null
  readonly decommissionedFrom: TenantState | null
  readonly hasError: boolean
}

export type TenantTransition =
  | { readonly allowed: true; readonly next: TenantStateRecord }
  | { readonly allowed: false; readonly currentState: TenantState }

type Target = TenantState | 'suspendedFrom' | 'decommissionedFrom'

/** The transition table. A pair that does not stand here is refused. */
const TABLE: { readonly [S in TenantState]: { readonly [E in TenantEvent]?: Target } } = {
  pending: {
    installed: 'provisioning',
    install_failed: 'pending',
    retry: 'pending',
    decommission: 'decommissioning',
  },
  provisioning: {
    ready: 'active',
    timed_out: 'degraded',
    suspend: 'suspended',
    degrade: 'degraded',
    decommission: 'decommissioning',
  },
  active: { suspend: 'suspended', degrade: 'degraded', decommission: 'decommissioning' },
  degraded: { retry: 'provisioning', suspend: 'suspended', decommission: 'decommissioning' },
  suspended: { resume: 'suspendedFrom', decommission: 'decommissioning' },
  decommissioning: { cancel_decommission: 'decommissionedFrom' },
}

/**
 * The one place that decides whether an event moves a tenant, and where to (S, decisions 3.6 and 3.7).
 * Retrying a `pending` tenant needs an error to retry.
 */
export function nextTenantState(current: TenantStateRecord, event: TenantEvent): TenantTransition {
  const refused = { allowed: false, currentState: current.state } as const
  const target = TABLE[current.state][event]
  if (target === undefined) return refused
  if (event === 'retry' && current.state === 'pending' && !current.hasError) return refused
  const state = target === 'suspendedFrom' || target === 'decommissionedFrom' ? current[target] : target
  if (state === null) return refused
  return { allowed: true, next: recordAfter(current, event, state) }
}

function recordAfter(current: TenantStateRecord, event: TenantEvent, state: TenantState): TenantStateRecord {
  return {
    state,
    suspendedFrom: event === 'suspend' ? current.state : event === 'resume' ? null : current.suspendedFrom,
    decommissionedFrom:
      event === 'decommission'
        ? current.state
        : event === 'cancel_decommission'
          ? null
          : current.decommissionedFrom,
    hasError: event === 'install_failed' || (current.hasError && event !== 'retry' && event !== 'installed'),
  }
}

/** The event behind a change of phase that the operator reports; `undefined` when no such change exists. */
export function eventOfPhaseChange(from: TenantState, to: TenantState): TenantEvent | undefined {
  const events: readonly TenantEvent[] = ['installed', 'ready', 'timed_out']
  return events.find((event) => TABLE[from][event] === to)
}

/** The provisioning steps, closed and in order (decision 3.4). */
export const STEPS = ['namespace', 'secrets', 'release', 'workloads', 'heartbeat'] as const
export type Step = (typeof STEPS)[number]

export const STEP_STATUSES = ['waiting', 'running', 'done', 'failed'] as const
export type StepStatus = (typeof STEP_STATUSES)[number]

/** The kinds of lifecycle rows, closed (decision 3.13). */
export const LIFECYCLE_KINDS = [
  'tenant.created',
  'step.started',
  'step.done',
  'step.failed',
  'rolled_back',
  'retry.requested',
  'state.changed',
  'config.revised',
  'key.rotated',
  'token.refreshed',
  'upgrade.started',
  'upgrade.done',
  'upgrade.failed',
  'edge_ports.assigned',
  'namespace.missing',
  'decommission.requested',
  'decommission.cancelled',
  'uninstalled',
  'namespace.deleted',
  'deleted',
] as const
export type LifecycleKind = (typeof LIFECYCLE_KINDS)[number]

/** The kinds that the operator writes into the journal of a CR's status; the others are written by the API's verbs. */
export const JOURNAL_KINDS = [
  'step.started',
  'step.done',
  'step.failed',
  'rolled_back',
  'state.changed',
  'upgrade.started',
  'upgrade.done',
  'upgrade.failed',
  'namespace.missing',
  'uninstalled',
  'namespace.deleted',
] as const satisfies readonly LifecycleKind[]
export type JournalKind = (typeof JOURNAL_KINDS)[number]
