import { type AdapterPrincipal, type Principal, ServiceError, type TenantState } from '@service/domain'
import type { Tx } from '../../db/scope.ts'
import { guardAudience } from '../guard.ts'

/** Fails with `wrong_audience` for anybody but a tenant's adapter. */
export function guardAdapter(principal: Principal): asserts principal is AdapterPrincipal {
  guardAudience(principal, { kind: 'adapter' })
}

export type OwnTenant = {
  readonly slug: string
  readonly displayName: string
  readonly state: TenantState
}

/** The adapter's own tenant. Its token outlives the row by seconds at most: then it is as dead as any other. */
export async function ownTenant(tx: Tx, tenantId: string): Promise<OwnTenant> {
  const [row] = await tx.sql<{ slug: string; display_name: string; state: TenantState }[]>`
    select slug, display_name, state from tenants where id = ${tenantId} and deleted_at is null`
  if (row === undefined) throw new ServiceError('invalid_token')
  return { slug: row.slug, displayName: row.display_name, state: row.state }
}
