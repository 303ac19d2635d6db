import { randomUUID } from 'node:crypto'
import {
  type Clock,
  type HitFailpoint,
  type LifecycleKind,
  type MsspPrincipal,
  nextTenantState,
  type Principal,
  ServiceError,
  type TenantState,
} from '@service/domain'
import type { Tenant } from '@service/wire'
import { and, eq, isNull } from 'drizzle-orm'
import { writeAudit } from '../../db/audit.ts'
import type { Database } from '../../db/database.ts'
import { newId } from '../../db/ids.ts'
import { tenantHeartbeats, tenantLifecycleEvents, tenants } from '../../db/schema/index.ts'
import { forTenant, type Tx } from '../../db/scope.ts'
import { markTenant } from '../../projector/queue.ts'
import { guardMssp } from '../guard.ts'
import { type TenantRow, tenantView } from './rows.ts'

export type RetryTenantContext = {
  readonly db: Database
  readonly clock: Clock
  /** Tells the projector that there is a mark. */
  readonly wake: () => void
  readonly hit: HitFailpoint
}

/**
 * Orders another try: from `pending` with an error it stays `pending`, from `degraded` it goes back to `provisioning`
 * (decisions 3.6, 3.7). The new token makes the failure a matter of the past. Of parallel retries exactly one wins,
 * because the winner leaves nothing to retry.
 */
export async function retryTenant(
  ctx: RetryTenantContext,
  input: { readonly principal: Principal; readonly requestId: string; readonly id: string },
): Promise<Tenant> {
  const { principal, requestId, id } = input
  guardMssp(principal, 'tenant.write')
  const now = ctx.clock()
  const rows = await forTenant(ctx.db, id, async (tx) => {
    const before = await lockTenant(tx, id)
    const tenant = await orderRetry(tx, before, now)
    await record(tx, ctx.clock, { principal, requestId, before, after: tenant })
    await markTenant(tx, id)
    const [heartbeat] = await tx.q.select().from(tenantHeartbeats).where(eq(tenantHeartbeats.tenantId, id))
    return { tenant, heartbeat: heartbeat ?? null }
  })
  ctx.hit('api.retry.committed')
  ctx.wake()
  return tenantView(rows.tenant, rows.heartbeat, now)
}

/** Waits for whoever changes the row; a deleted tenant takes no orders. */
async function lockTenant(tx: Tx, id: string): Promise<TenantRow> {
  const [row] = await tx.q
    .select()
    .from(tenants)
    .where(and(eq(tenants.id, id), isNull(tenants.deletedAt)))
    .for('update')
  if (row === undefined) throw new ServiceError('not_found')
  return row
}

async function orderRetry(tx: Tx, before: TenantRow, now: Date): Promise<TenantRow> {
  const { id, state, suspendedFrom, decommissionedFrom } = before
  const current = { state, suspendedFrom, decommissionedFrom, hasError: before.error !== null }
  const transition = nextTenantState(current, 'retry')
  if (!transition.allowed)
    throw new ServiceError('state_conflict', 'There is nothing to try again', {
      current_state: transition.currentState,
    })
  const revision = before.specRevision + 1
  const moved =
    transition.next.state === state
      ? {}
      : { state: transition.next.state, stateReason: null, stateChangedAt: now }
  const [after] = await tx.q
    .update(tenants)
    .set({
      ...moved,
      error: null,
      retryToken: randomUUID(),
      specRevision: revision,
      stateRevision: revision,
      updatedAt: now,
    })
    .where(eq(tenants.id, id))
    .returning()
  if (after === undefined) throw new Error('the database answered no row for a locked tenant')
  return after
}

type Retry = {
  readonly principal: MsspPrincipal
  readonly requestId: string
  readonly before: TenantRow
  readonly after: TenantRow
}

/** Lifecycle rows and the audit row; the operator's echo of this change of state makes no further one. */
async function record(tx: Tx, clock: Clock, { principal, requestId, before, after }: Retry): Promise<void> {
  const { id } = after
  const row = (
    kind: LifecycleKind,
    from: TenantState,
    to: TenantState,
    details: Record<string, unknown>,
  ) => ({
    id: newId(clock),
    tenantId: id,
    at: after.updatedAt,
    kind,
    fromState: from,
    toState: to,
    actorId: principal.userId,
    details,
  })
  const failed = before.error === null ? {} : { step: before.error.step, reason: before.error.reason }
  const events = [row('retry.requested', before.state, after.state, failed)]
  if (before.state !== after.state) events.push(row('state.changed', before.state, after.state, {}))
  await tx.q.insert(tenantLifecycleEvents).values(events)
  const common = {
    principal,
    tenantId: id,
    resourceType: 'tenant',
    resourceId: id,
    actingAs: id,
    requestId,
  } as const
  await writeAudit(tx, {
    ...common,
    action: 'tenant.retry',
    before: snapshot(before),
    after: snapshot(after),
  })
  if (before.state !== after.state)
    await writeAudit(tx, {
      ...common,
      action: 'tenant.state_changed',
      before: { state: before.state },
      after: { state: after.state },
    })
}

const snapshot = (row: TenantRow) => ({
  state: row.state,
  error: row.error === null ? null : { step: row.error.step, reason: row.error.reason },
  spec_revision: row.specRevision,
})
