import { ServiceError, type TenantState } from '@service/domain'
import type { Tx } from '../db/scope.ts'

export type OwnTenant = {
  readonly slug: string
  readonly displayName: string
  readonly state: TenantState
}

/** The tenant of a workload's token. The token outlives the row by seconds at most: then it is as dead as any other. */
export async function ownTenant(tx: Tx, tenantId: string): Promise<OwnTenant> {
  const [row] = await tx.sql<{ slug: string; display_name: string; state: TenantState }[]>`
    select slug, display_name, state from tenants where id = ${tenantId} and deleted_at is null`
  if (row === undefined) throw new ServiceError('invalid_token')
  return { slug: row.slug, displayName: row.display_name, state: row.state }
}
