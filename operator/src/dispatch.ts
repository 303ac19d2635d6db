import { TenantSpec } from '@service/crds'
import type { Tenant } from '@service/crds'
import { FINALIZER, namespaceOf } from '@service/domain'
import * as v from 'valibot'
import type { ReconcileContext } from './context.ts'
import type { ReconcileOutcome } from './controller.ts'
import { tenantEvent } from './operator.ts'
import type { TenantOperator } from './operator.ts'
import type { OwnWrites } from './own-writes.ts'
import { isPaused, teardownOrdered } from './plan.ts'
import { isRace, reconcileTenant, writeStatus } from './reconcile.ts'
import { withCondition } from './status.ts'
import { teardownTenant } from './teardown.ts'

/** After a lost race the watch is about to bring what the other one wrote. */
const RACE_MS = 200

/** Not an error: what was ordered takes longer than one look. */
class LookAgain extends Error {
  readonly afterMs: number
  constructor(afterMs: number) {
    super('not finished yet')
    this.afterMs = afterMs
  }
}

/** One look at one tenant: its finalizer, its end, or its life. */
export async function dispatch(
  context: ReconcileContext,
  shell: TenantOperator,
  own: OwnWrites,
  name: string,
): Promise<ReconcileOutcome> {
  const tenant = context.cache.tenant(name)
  if (tenant === undefined) {
    own.forget(name)
    context.releases.forget(namespaceOf(name))
    context.troubles.delete(name)
    return { requeueAfterMs: null, gone: true }
  }
  try {
    const handled = await shell.handleResourceFinalizer(tenantEvent(tenant), FINALIZER, () =>
      beforeDeletion(context, tenant),
    )
    // The patch comes back as an event.
    if (handled) return { requeueAfterMs: null }
    return await reconcileLiving(context, tenant)
  } catch (error) {
    if (error instanceof LookAgain) return { requeueAfterMs: error.afterMs }
    if (isRace(error)) return { requeueAfterMs: RACE_MS }
    throw error
  }
}

/** Without an order that fits, nothing is torn down: the object goes, the tenant stays (decision 8.7). */
async function beforeDeletion(context: ReconcileContext, tenant: Tenant): Promise<void> {
  if (!teardownOrdered(tenant)) {
    context.log.warn({ tenant: tenant.metadata.name }, 'deleted without an order to tear down: all stays')
    return
  }
  if (isPaused(tenant)) throw new LookAgain(60_000)
  const outcome = await teardownTenant(context, tenant)
  if (!outcome.finished) throw new LookAgain(outcome.requeueAfterMs)
  // The finalizer goes on top of the version in which the end is recorded.
  if (outcome.tenant !== tenant) throw new LookAgain(0)
}

async function reconcileLiving(context: ReconcileContext, tenant: Tenant): Promise<ReconcileOutcome> {
  const spec = v.safeParse(TenantSpec, tenant.spec)
  if (!spec.success) {
    const wrong = spec.issues.map((issue) => v.getDotPath(issue) ?? 'all').join(', ')
    const message = `The spec is not valid: ${wrong}.`
    const draft = (status: 'True' | 'False') => ({ status, reason: 'InvalidConfiguration', message }) as const
    const drafts = new Map([['Ready', draft('False')] as const, ['Stalled', draft('True')] as const])
    await writeStatus(context, tenant, withCondition(tenant, drafts, context.clock()))
    return { requeueAfterMs: null }
  }
  if (!isPaused(tenant) && teardownOrdered(tenant)) {
    const outcome = await teardownTenant(context, tenant)
    return { requeueAfterMs: outcome.finished ? null : outcome.requeueAfterMs }
  }
  return reconcileTenant(context, tenant)
}
