import { TENANTS } from '@service/crds'
import type { Tenant, TenantStatus } from '@service/crds'
import { FIELD_MANAGER, namespaceOf } from '@service/domain'
import { isKubeError } from '@service/kube'
import type { ConditionDraft } from './conditions.ts'
import type { ReconcileContext } from './context.ts'
import type { ReconcileOutcome } from './controller.ts'
import { judge } from './failure.ts'
import { observe } from './observe.ts'
import type { Observed } from './observe.ts'
import { assess, isPaused, plan, rollbackOf } from './plan.ts'
import type { Next, Verdicts } from './plan.ts'
import { lostNamespace, nextStatus, sameStatus, willDegrade, withCondition, withRefusal } from './status.ts'
import type { StatusInput, StepFailure } from './status.ts'
import { evidenceOf, withEvidence } from './steps/evidence.ts'
import { namespaceStep } from './steps/namespace.ts'
import { releaseStep } from './steps/release.ts'
import { rollbackStep } from './steps/rollback.ts'
import { secretsStep } from './steps/secrets.ts'

/** More than any tenant needs from nothing to active; beyond it something goes round in circles. */
const MAX_PASSES = 16

/**
 * Looks, writes down what it will do, does one thing, and looks again, until there is nothing to do now. A crash between
 * any two lines is repaired by the next look. Fails when the cluster cannot be reached: nothing is known then.
 */
export async function reconcileTenant(context: ReconcileContext, start: Tenant): Promise<ReconcileOutcome> {
  if (isPaused(start)) {
    const paused = { status: 'Unknown', reason: 'Paused', message: PAUSED } as const
    await writeStatus(context, start, withReady(context, start, paused))
    return { requeueAfterMs: null }
  }
  let tenant = start
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const seen = await look(context, tenant)
    const now = context.clock()
    const verdicts = assess(tenant, seen, now)
    const next = plan(tenant, seen, verdicts, now, context.config.readinessTimeoutMs)
    const input = { ...(await statusInput(context, tenant, seen, verdicts, now)), next }
    const phase = tenant.status?.phase
    tenant = await writeStatus(context, tenant, nextStatus(input))
    if (context.draining.aborted) return { requeueAfterMs: 0 }
    // Another phase may ask for something else.
    if (tenant.status?.phase !== phase) continue
    if (next.do === 'rest') return { requeueAfterMs: next.requeueAfterMs }
    if (next.do === 'roll-back' && next.act.do === 'finished') continue
    if (next.do === 'roll-back' && next.act.do === 'wait') return { requeueAfterMs: GOING_MS }
    const failed = await tryOnce({ ...input, tenant }, context, seen)
    if (failed !== undefined) {
      const status = nextStatus({ ...input, tenant, now: context.clock(), failed })
      tenant = await writeStatus(context, tenant, status)
      if (rollbackOf(tenant) !== 'open') throw new StepFailedError(failed)
    }
    // Its going arrives as an event.
    if (next.do === 'roll-back' && next.act.do === 'delete-namespace') return { requeueAfterMs: GOING_MS }
  }
  throw new Error(`${start.metadata.name} does not settle within ${MAX_PASSES} passes`)
}

/** This only covers an event that was lost. */
const GOING_MS = 10_000
const PAUSED = 'Reconciliation is paused by annotation; what stands here may be old.'

/** The step is tried again with growing pauses; what failed stands in the status. */
export class StepFailedError extends Error {
  override readonly name = 'StepFailedError'
  readonly failure: StepFailure
  constructor(failure: StepFailure) {
    super(`step ${failure.step} failed: ${failure.message}`)
    this.failure = failure
  }
}

function withReady(context: ReconcileContext, tenant: Tenant, draft: ConditionDraft): TenantStatus {
  return withCondition(tenant, new Map([['Ready', draft]]), context.clock())
}

/** A cluster that refuses to be looked at is told of, and looked at again: nothing is rolled back for it. */
async function look(context: ReconcileContext, tenant: Tenant): Promise<Observed> {
  try {
    return await observe(context, tenant)
  } catch (error) {
    const judgement = judge('namespace', error)
    if (judgement.kind === 'failed') {
      await writeStatus(context, tenant, withRefusal(tenant, judgement.failure.message, context.clock()))
    }
    throw error
  }
}

async function statusInput(
  context: ReconcileContext,
  tenant: Tenant,
  seen: Observed,
  verdicts: Verdicts,
  now: Date,
): Promise<Omit<StatusInput, 'next'>> {
  const trouble = context.troubles.get(tenant.metadata.name)
  const timeoutMs = context.config.readinessTimeoutMs
  const evidence = willDegrade({ tenant, verdicts, now, timeoutMs })
    ? [
        ...(seen.workloads?.unready ?? []),
        verdicts.heartbeat.message,
        await evidenceOf(context, namespaceOf(tenant.metadata.name)),
      ].join('\n')
    : undefined
  return {
    tenant,
    verdicts,
    now,
    timeoutMs,
    release: withoutRecord(seen),
    namespaceLost: lostNamespace(tenant, seen),
    ...(trouble === undefined ? {} : { trouble }),
    ...(evidence === undefined ? {} : { evidence }),
  }
}

/** What the status shows of a release. */
function withoutRecord({ release }: Observed): StatusInput['release'] {
  if (release === null) return null
  const { secret: _secret, workloads: _workloads, ...seen } = release
  return seen
}

type Act = Exclude<Next, { do: 'rest' }>

async function act(context: ReconcileContext, tenant: Tenant, next: Act, seen: Observed): Promise<void> {
  if (next.do === 'roll-back') {
    const { act: removal } = next
    if (removal.do !== 'wait' && removal.do !== 'finished') await rollbackStep(context, tenant, removal)
  } else if (next.step === 'namespace') await namespaceStep(context, tenant, seen.namespace)
  else if (next.step === 'secrets') await secretsStep(context, tenant)
  else await releaseStep(context, tenant, seen)
}

/** Returns what failed for good, with evidence. What may pass is shown in the status and thrown, to be tried again. */
async function tryOnce(
  input: StatusInput,
  context: ReconcileContext,
  seen: Observed,
): Promise<StepFailure | undefined> {
  const { tenant, next } = input
  const { name } = tenant.metadata
  if (next.do === 'rest') return undefined
  try {
    await act(context, tenant, next, seen)
    context.troubles.delete(name)
    return undefined
  } catch (error) {
    const judgement = judge(next.do === 'step' ? next.step : 'release', error)
    if (judgement.kind === 'race' || context.draining.aborted || context.signal.aborted) throw error
    if (next.do === 'step' && judgement.kind === 'failed') {
      context.troubles.delete(name)
      return withEvidence(context, tenant, judgement.failure)
    }
    // A removal is never given up: what is refused is tried again like what is slow.
    const { message } = judgement.kind === 'failed' ? judgement.failure : judgement
    const trouble = message.slice(0, 1_024)
    context.troubles.set(name, trouble)
    const status = nextStatus({ ...input, now: context.clock(), trouble })
    await writeStatus(context, tenant, status).catch((cause: unknown) =>
      context.log.debug({ err: cause, tenant: name }, 'the trouble could not be told'),
    )
    throw error
  }
}

/**
 * Writes a status that differs, on top of the very version that it was made from: a write in between makes it fail and
 * the tenant is looked at again. Returns the tenant as the server has it now.
 */
export async function writeStatus(
  context: ReconcileContext,
  tenant: Tenant,
  status: TenantStatus,
): Promise<Tenant> {
  if (sameStatus(tenant.status, status)) return tenant
  const { name, resourceVersion } = tenant.metadata
  if (resourceVersion === undefined) throw new Error(`${name} has no resourceVersion`)
  const written = await context.kube.apply<Tenant>(
    TENANTS,
    {
      apiVersion: tenant.apiVersion,
      kind: tenant.kind,
      metadata: { name, resourceVersion },
      status,
    } as Tenant,
    { fieldManager: FIELD_MANAGER.operator, force: true, subresource: 'status' },
  )
  context.wrote(written)
  context.hit('operator.status.written')
  const last = tenant.status?.journal?.at(-1)?.seq ?? 0
  const added = (written.status?.journal ?? []).filter((entry) => entry.seq > last)
  await context.events.record(written, added)
  return written
}

/** Somebody wrote in between, or the object has just gone: no failure, only another look. */
export const isRace = (error: unknown): boolean => isKubeError(error, 'Conflict', 'NotFound')
