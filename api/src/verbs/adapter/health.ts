import { type Clock, type HitFailpoint, type Principal, ServiceError, timestamp } from '@service/domain'
import type { Heartbeat, HeartbeatAnswer } from '@service/wire'
import type { Database } from '../../db/database.ts'
import { forTenant, type Tx } from '../../db/scope.ts'
import { ownTenant } from '../own-tenant.ts'
import { guardAdapter } from './caller.ts'

export type HeartbeatContext = {
  readonly db: Database
  readonly clock: Clock
  /** Tells the cluster, in its own time; a heartbeat never waits for the cluster and never fails with it. */
  readonly renewLease: (tenantId: string, slug: string) => void
  readonly hit: HitFailpoint
}

/** Accepted in every state while the token lives; moves no state by itself (decision 3.10). */
export async function recordHeartbeat(
  ctx: HeartbeatContext,
  input: { readonly principal: Principal; readonly heartbeat: Heartbeat },
): Promise<HeartbeatAnswer> {
  const { principal, heartbeat } = input
  guardAdapter(principal)
  const { tenantId } = principal
  if (heartbeat.tenant_id !== tenantId)
    throw new ServiceError('forbidden_target', 'The token belongs to another tenant')
  const now = ctx.clock()
  const tenant = await forTenant(ctx.db, tenantId, async (tx) => {
    const own = await ownTenant(tx, tenantId)
    await upsert(tx, heartbeat, now)
    return own
  })
  ctx.hit('api.heartbeat.committed')
  ctx.renewLease(tenantId, tenant.slug)
  return { ok: true, state: tenant.state, server_time: timestamp(now) }
}

async function upsert(tx: Tx, heartbeat: Heartbeat, now: Date): Promise<void> {
  const metrics = heartbeat.metrics === null ? null : JSON.stringify(heartbeat.metrics)
  await tx.sql`
    insert into tenant_heartbeats as stored (tenant_id, version, health, metrics, last_heartbeat_at)
    values (${heartbeat.tenant_id}, ${heartbeat.version}, ${heartbeat.health}, ${metrics}, ${now})
    on conflict (tenant_id) do update
      set version = excluded.version, health = excluded.health, metrics = excluded.metrics,
          last_heartbeat_at = excluded.last_heartbeat_at
      where stored.last_heartbeat_at <= excluded.last_heartbeat_at`
}
