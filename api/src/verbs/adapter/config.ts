import { EVENT_BATCH, type Principal } from '@service/domain'
import type { AdapterConfig } from '@service/wire'
import type { Database } from '../../db/database.ts'
import { forTenant } from '../../db/scope.ts'
import { ownTenant } from '../own-tenant.ts'
import { guardAdapter } from './caller.ts'

export type AdapterConfigContext = {
  readonly db: Database
  readonly heartbeatSeconds: number
  readonly pollSeconds: number
}

const MIN_SEVERITY = 0
const REDACTION_VERSION = '1'

/** How the adapter should work (decision 5.3). */
export async function readAdapterConfig(
  ctx: AdapterConfigContext,
  input: { readonly principal: Principal },
): Promise<AdapterConfig> {
  const { principal } = input
  guardAdapter(principal)
  const { tenantId } = principal
  const tenant = await forTenant(ctx.db, tenantId, (tx) => ownTenant(tx, tenantId))
  return {
    tenant_id: tenantId,
    slug: tenant.slug,
    display_name: tenant.displayName,
    state: tenant.state,
    min_severity: MIN_SEVERITY,
    poll_seconds: ctx.pollSeconds,
    batch_size: EVENT_BATCH.max,
    heartbeat_seconds: ctx.heartbeatSeconds,
    redaction_version: REDACTION_VERSION,
  }
}
