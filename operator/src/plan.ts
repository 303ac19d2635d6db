import type { ConditionReason, Tenant, TenantStatus } from '@service/crds'
import { ANNOTATIONS, HEARTBEAT, namespaceOf, PROFILES, STEPS } from '@service/domain'
import type { Step, TenantState } from '@service/domain'
import { lastChangeTo } from './journal.ts'
import type { NamespaceSeen, Observation } from './observation.ts'

/**
 * What one step amounts to: done; ours to do now; for somebody else to do (the API, the cluster, the adapter); or
 * refused until a person changes something.
 */
export type Verdict = {
  readonly todo: 'none' | 'act' | 'wait' | 'blocked'
  readonly reason: ConditionReason
  /** One sentence for people. Holds nothing that changes by itself. */
  readonly message: string
}
export type Verdicts = { readonly [S in Step]: Verdict }

export type ActingStep = 'namespace' | 'secrets' | 'release'
export type Next =
  | { readonly do: 'step'; readonly step: ActingStep }
  /** What a failed installation has left is removed; `finished` means that it has been seen to be gone. */
  | { readonly do: 'roll-back'; readonly act: TeardownNext }
  /** Look again after the time, or when something changes. */
  | { readonly do: 'rest'; readonly requeueAfterMs: number | null }

/** Changes arrive as events; this only covers one that was lost. */
const WAITING_MS = 30_000
const BLOCKED_MS = 60_000

const verdict = (todo: Verdict['todo'], reason: ConditionReason, message: string): Verdict => ({
  todo,
  reason,
  message,
})

/** Elsewhere the customer's agent installs; nothing of it is made in this cluster. */
const elsewhere = verdict('wait', 'Waiting', 'The agent in the remote cluster installs this tenant.')
const REMOTE: Verdicts = {
  namespace: elsewhere,
  secrets: elsewhere,
  release: elsewhere,
  workloads: elsewhere,
  heartbeat: elsewhere,
}

/** Judges each step by what the cluster shows, never by what we remember of having done. */
export function assess(tenant: Tenant, seen: Observation, now: Date): Verdicts {
  if (tenant.spec.placement === 'remote') return REMOTE
  const namespace = assessNamespace(tenant, seen.namespace)
  const secrets = assessSecrets(tenant, seen, namespace)
  return {
    namespace,
    secrets,
    release: assessRelease(seen, secrets),
    workloads: assessWorkloads(seen),
    heartbeat: assessHeartbeat(seen, now),
  }
}

function assessNamespace(tenant: Tenant, seen: NamespaceSeen): Verdict {
  const name = namespaceOf(tenant.metadata.name)
  switch (seen.state) {
    case 'absent':
      return verdict('act', 'Missing', `Namespace ${name} does not exist.`)
    case 'foreign': {
      const owner = seen.tenantId === null ? 'no tenant' : `tenant ${seen.tenantId}`
      if (seen.going) {
        return verdict('wait', 'Terminating', `Namespace ${name} of ${owner} is still being deleted.`)
      }
      return verdict(
        'blocked',
        'Conflict',
        `Namespace ${name} belongs to ${owner} by its label tenant-id. It is never taken over: remove it or choose another slug.`,
      )
    }
    case 'terminating': {
      const why = seen.blockers.length === 0 ? '' : ` ${seen.blockers.join(' ')}`
      return verdict('wait', 'Terminating', `Namespace ${name} is still being deleted.${why}`)
    }
    default:
      return seen.labelled
        ? verdict('none', 'Created', `Namespace ${name} is there.`)
        : verdict('act', 'Progressing', `Labels of namespace ${name} are brought up to date.`)
  }
}

function assessSecrets(tenant: Tenant, seen: Observation, namespace: Verdict): Verdict {
  if (namespace.todo !== 'none' && seen.namespace.state !== 'ours') {
    return verdict('wait', 'Waiting', 'Waits for the namespace.')
  }
  const wanted = tenant.spec.secretsRevision
  switch (seen.material.state) {
    case 'missing':
      return verdict('wait', 'MaterialMissing', 'The API has not written the secret material yet.')
    case 'stale':
      return verdict(
        'wait',
        'MaterialStale',
        `The secret material has revision ${seen.material.revision}, wanted is ${wanted}.`,
      )
    case 'incomplete':
      return verdict('wait', 'MaterialMissing', `The secret material lacks ${seen.material.keys.join(', ')}.`)
    default:
      return seen.outdatedSecrets.length === 0
        ? verdict('none', 'Copied', 'All secrets are there.')
        : verdict('act', 'Progressing', `Secrets to be written: ${seen.outdatedSecrets.join(', ')}.`)
  }
}

function assessRelease(seen: Observation, secrets: Verdict): Verdict {
  const { release, desired } = seen
  if (release?.status.startsWith('pending-') === true || release?.status === 'uninstalling') {
    return release.ours
      ? verdict('act', 'Progressing', `Helm was interrupted (${release.status}) and is run again.`)
      : verdict(
          'blocked',
          'ForeignOperation',
          `Somebody else's Helm operation is running (${release.status}). It is left alone.`,
        )
  }
  if ('invalid' in desired) return verdict('blocked', 'InvalidConfiguration', desired.invalid)
  if (release !== null && release.status === 'deployed') {
    const sameChart = desired.chartVersion === null || desired.chartVersion === release.chartVersion
    if (sameChart && desired.valuesDigest === release.valuesDigest) {
      return verdict('none', 'Installed', `Chart version ${release.chartVersion} is installed.`)
    }
    return verdict('act', 'Progressing', 'The release is brought up to date.')
  }
  if (secrets.todo !== 'none') return verdict('wait', 'Waiting', 'Waits for the secrets.')
  return verdict('act', 'Progressing', 'The release is installed.')
}

function assessWorkloads({ workloads }: Observation): Verdict {
  if (workloads === null) return verdict('wait', 'Waiting', 'Waits for the release.')
  return workloads.unready.length === 0
    ? verdict('none', 'Available', 'All workloads are ready.')
    : verdict('wait', 'PodsNotReady', `Not ready: ${workloads.unready.join('; ')}.`)
}

function assessHeartbeat({ heartbeatAt }: Observation, now: Date): Verdict {
  if (heartbeatAt === null) return verdict('wait', 'HeartbeatMissing', 'The adapter has not reported yet.')
  return isFresh(heartbeatAt, now)
    ? verdict('none', 'Connected', 'The adapter reports.')
    : verdict('wait', 'HeartbeatStale', 'The adapter has stopped reporting: look at its pod and its log.')
}

export const isFresh = (heartbeatAt: Date, now: Date): boolean =>
  now.getTime() - heartbeatAt.getTime() <= HEARTBEAT.staleMs

/** The first step that is not done, in their order. */
export const openStep = (verdicts: Verdicts): Step | undefined =>
  STEPS.find((step) => verdicts[step].todo !== 'none')

/** What to do next, one thing at a time. */
export function plan(
  tenant: Tenant,
  seen: Observation,
  verdicts: Verdicts,
  now: Date,
  timeoutMs = timeoutOf(tenant),
): Next {
  const phase = tenant.status?.phase ?? 'pending'
  if (phase === 'decommissioning') return planFrozen(verdicts)
  const rollback = rollbackOf(tenant)
  if (rollback === 'open') return { do: 'roll-back', act: planRollback(seen) }
  if (rollback === 'done' && !retryRequested(tenant)) return { do: 'rest', requeueAfterMs: null }
  const acting = (['namespace', 'secrets', 'release'] as const).find((step) => verdicts[step].todo !== 'none')
  if (acting !== undefined) {
    const { todo } = verdicts[acting]
    if (todo === 'act') return { do: 'step', step: acting }
    return { do: 'rest', requeueAfterMs: todo === 'blocked' ? BLOCKED_MS : WAITING_MS }
  }
  if (openStep(verdicts) === undefined) return { do: 'rest', requeueAfterMs: null }
  return { do: 'rest', requeueAfterMs: Math.min(WAITING_MS, untilDeadline(tenant, now, timeoutMs)) }
}

/**
 * Only the order to tear down moves a tenant in its grace period (decision 3.6); its tokens are renewed all the same
 * (decision 2.11), where they were once.
 */
function planFrozen({ namespace, secrets, release }: Verdicts): Next {
  const isRenewal = namespace.todo === 'none' && secrets.todo === 'act' && release.todo !== 'wait'
  return isRenewal ? { do: 'step', step: 'secrets' } : { do: 'rest', requeueAfterMs: null }
}

/** Failures of which something may be left in the cluster; what is merely refused beforehand leaves nothing. */
export const LEAVES_SOMETHING: readonly ConditionReason[] = ['InstallFailed', 'ApiError']

/**
 * How far the rollback of a failed installation is (decision 3.6). Read from failure and journal, so that whoever dies in
 * between is followed by one who goes on. It is finished even when a retry has been asked for meanwhile.
 */
export function rollbackOf({ status = {} }: Tenant): 'none' | 'open' | 'done' {
  const { phase = 'pending', failure, journal = [] } = status
  if (phase !== 'pending' || !failure || !LEAVES_SOMETHING.includes(failure.reason)) return 'none'
  const last = journal.findLast(({ kind }) => kind === 'step.failed' || kind === 'rolled_back')
  return last?.kind === 'rolled_back' ? 'done' : 'open'
}

/** As a teardown, but somebody else's helm is let finish first. */
function planRollback(seen: Observation): TeardownNext {
  const { release, namespace } = seen
  const foreign = release !== null && !release.ours && release.status.startsWith('pending-')
  if (namespace.state === 'ours' && foreign) {
    return { do: 'wait', message: "Somebody else's Helm operation is running." }
  }
  return planTeardown(seen)
}

/** A person has asked for another try, by a new token. */
export const retryRequested = (tenant: Tenant): boolean => {
  const failure = tenant.status?.failure
  return failure !== undefined && failure !== null && failure.retryToken !== tenant.spec.retryToken
}

/** The phase that the cluster and the spec ask for; one change at a time. Rows of the domain's table (S, decision 3.6). */
export function nextPhase(
  tenant: Tenant,
  verdicts: Verdicts,
  now: Date,
  timeoutMs = timeoutOf(tenant),
): TenantState {
  const status = tenant.status ?? {}
  const phase = status.phase ?? 'pending'
  const { desired } = tenant.spec
  if (desired === 'Decommission') return 'decommissioning'
  if (phase === 'decommissioning') return lastChangeTo(status.journal ?? [], phase)?.from ?? 'provisioning'
  if (desired === 'Suspend' && phase !== 'pending') return 'suspended'
  switch (phase) {
    case 'pending':
      return isInstalled(verdicts) && rollbackOf(tenant) === 'none' ? 'provisioning' : phase
    case 'provisioning':
      if (openStep(verdicts) === undefined) return 'active'
      return untilDeadline(tenant, now, timeoutMs) <= 0 ? 'degraded' : phase
    case 'degraded':
      return retryRequested(tenant) ? 'provisioning' : phase
    case 'suspended':
      return suspendedFrom(status)
    default:
      return phase
  }
}

/** A cancelled decommissioning also leads into `suspended`; what was suspended stands before it. */
const suspendedFrom = ({ journal = [] }: TenantStatus): TenantState =>
  journal.findLast(
    ({ kind, from, to }) => kind === 'state.changed' && to === 'suspended' && from !== 'decommissioning',
  )?.from ?? 'provisioning'

const isInstalled = (verdicts: Verdicts): boolean =>
  (['namespace', 'secrets', 'release'] as const).every((step) => verdicts[step].todo === 'none')

/** Milliseconds until a provisioning tenant is degraded; the timer starts anew with each change to `provisioning`. */
function untilDeadline(tenant: Tenant, now: Date, timeoutMs: number): number {
  const status: TenantStatus = tenant.status ?? {}
  if (status.phase !== 'provisioning') return Infinity
  const since = lastChangeTo(status.journal ?? [], 'provisioning')?.at
  if (since === undefined) return Infinity
  return Date.parse(since) + timeoutMs - now.getTime()
}
const timeoutOf = ({ spec }: Tenant): number => PROFILES[spec.profile].readinessTimeoutMs

export const isPaused = (tenant: Tenant): boolean =>
  tenant.metadata.annotations?.[ANNOTATIONS.reconcile] === 'false'

/** The order to tear down counts only when it names this tenant and this very object (decision 8.7). */
export function teardownOrdered({ spec, metadata }: Tenant): boolean {
  const { teardown, tenantId, desired } = spec
  if (desired !== 'Decommission' || teardown === undefined) return false
  return teardown.tenantId === tenantId && teardown.uid === metadata.uid
}

export type TeardownNext =
  | { readonly do: 'uninstall' }
  | { readonly do: 'delete-namespace'; readonly uid: string }
  | { readonly do: 'wait'; readonly message: string }
  | { readonly do: 'finished' }

/** Release first, then the namespace, by its uid; a foreign namespace is none of ours. */
export function planTeardown(seen: Pick<Observation, 'namespace' | 'release'>): TeardownNext {
  const { namespace } = seen
  if (namespace.state === 'absent' || namespace.state === 'foreign') return { do: 'finished' }
  if (namespace.state === 'terminating') {
    const why = namespace.blockers.length === 0 ? '' : ` ${namespace.blockers.join(' ')}`
    return { do: 'wait', message: `The namespace is being deleted.${why}` }
  }
  return seen.release === null ? { do: 'delete-namespace', uid: namespace.uid } : { do: 'uninstall' }
}
