import { TENANTS } from '@service/crds'
import type { Tenant, TenantStatus } from '@service/crds'
import { FIELD_MANAGER, namespaceOf } from '@service/domain'
import { isKubeError } from '@service/kube'
import type { ConditionDraft } from './conditions.ts'
import type { ReconcileContext } from './context.ts'
import type { ReconcileOutcome } from './controller.ts'
import { failureOf } from './failure.ts'
import { observe } from './observe.ts'
import type { Observed } from './observe.ts'
import { assess, isPaused, plan } from './plan.ts'
import type { ActingStep, Verdicts } from './plan.ts'
import { lostNamespace, nextStatus, sameStatus, willDegrade, withCondition } from './status.ts'
import type { StatusInput, StepFailure } from './status.ts'
import { warningsOf } from './steps/evidence.ts'
import { namespaceStep } from './steps/namespace.ts'
import { releaseStep } from './steps/release.ts'
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
    const seen = await observe(context, tenant)
    const now = context.clock()
    const verdicts = assess(tenant, seen, now)
    const next = plan(tenant, verdicts, now)
    const input = await statusInput(context, tenant, seen, verdicts, now)
    const phase = tenant.status?.phase
    tenant = await writeStatus(context, tenant, nextStatus({ ...input, next }))
    if (context.draining.aborted) return { requeueAfterMs: 0 }
    // Another phase may ask for something else.
    if (tenant.status?.phase !== phase) continue
    if (next.do === 'rest') return { requeueAfterMs: next.requeueAfterMs }
    const failed = await act(context, tenant, next.step, seen)
    if (failed !== undefined) {
      await writeStatus(context, tenant, nextStatus({ ...input, tenant, next, now: context.clock(), failed }))
      throw new StepFailedError(failed)
    }
  }
  throw new Error(`${start.metadata.name} does not settle within ${MAX_PASSES} passes`)
}

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

async function statusInput(
  context: ReconcileContext,
  tenant: Tenant,
  seen: Observed,
  verdicts: Verdicts,
  now: Date,
): Promise<Omit<StatusInput, 'next'>> {
  const evidence = willDegrade(tenant, verdicts, now)
    ? [
        ...(seen.workloads?.unready ?? []),
        verdicts.heartbeat.message,
        await warningsOf(context, namespaceOf(tenant.metadata.name)),
      ].join('\n')
    : undefined
  return {
    tenant,
    verdicts,
    now,
    release: withoutRecord(seen),
    namespaceLost: lostNamespace(tenant, seen),
    ...(evidence === undefined ? {} : { evidence }),
  }
}

/** What the status shows of a release. */
function withoutRecord({ release }: Observed): StatusInput['release'] {
  if (release === null) return null
  const { secret: _secret, workloads: _workloads, ...seen } = release
  return seen
}

/** The effect of one step. Returns what failed for good; passing faults of the wire are thrown. */
async function act(
  context: ReconcileContext,
  tenant: Tenant,
  step: ActingStep,
  seen: Observed,
): Promise<StepFailure | undefined> {
  try {
    if (step === 'namespace') await namespaceStep(context, tenant, seen.namespace)
    else if (step === 'secrets') await secretsStep(context, tenant)
    else await releaseStep(context, tenant, seen)
    return undefined
  } catch (error) {
    const failed = failureOf(step, error)
    if (failed === undefined) throw error
    const warnings = await warningsOf(context, namespaceOf(tenant.metadata.name))
    return { ...failed, evidence: [warnings, failed.evidence].filter((text) => text !== '').join('\n') }
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
  const last = tenant.status?.journal?.at(-1)?.seq ?? 0
  const added = (written.status?.journal ?? []).filter((entry) => entry.seq > last)
  await context.events.record(written, added)
  return written
}

/** Somebody wrote in between, or the object has just gone: no failure, only another look. */
export const isRace = (error: unknown): boolean => isKubeError(error, 'Conflict', 'NotFound')
