import { ServiceError, type TenantState } from '@service/domain'
import type { Tx } from '../db/scope.ts'

/** In the grace period of a decommission a tenant's users may only read (decisions 2.12, 10.3). */
export async function refuseInGrace(tx: Tx, tenantId: string | null): Promise<void> {
  if (tenantId === null) return
  const [row] = await tx.sql<{ state: TenantState }[]>`
    select state from tenants where id = ${tenantId} and deleted_at is null for share`
  if (row === undefined) throw new ServiceError('not_found')
  if (row.state === 'decommissioning')
    throw new ServiceError('state_conflict', 'The tenant is being decommissioned and can only be read', {
      current_state: row.state,
    })
}
