import type { Principal } from '@service/domain'
import type { RunClaim } from '@service/wire'
import type { Database } from '../../db/database.ts'
import { forTenant } from '../../db/scope.ts'
import { ownTenant } from '../own-tenant.ts'
import { guardWorker } from './caller.ts'

export type ClaimContext = { readonly db: Database }

/**
 * The oldest run that waits for the worker's tenant, or `null` (decision 5.11). No run is queued by anything yet, so
 * that none is ever found; the caller's tenant is proven all the same.
 */
export async function claimRun(
  ctx: ClaimContext,
  input: { readonly principal: Principal; readonly claim: RunClaim },
): Promise<null> {
  const { principal } = input
  guardWorker(principal)
  const { tenantId } = principal
  await forTenant(ctx.db, tenantId, (tx) => ownTenant(tx, tenantId))
  return null
}
