import type { Principal } from '@service/domain'
import type { Resource } from '@service/wire'
import type { Database } from '../db/database.ts'
import { asReader, forTenant, type Tx } from '../db/scope.ts'

/**
 * Whether a path names something that the caller could see. Asked when the rest of a request is wrong, so that an
 * unknown id is an unknown id whatever else is wrong (decision 1.4); with a sound request the verb finds out itself.
 */
export async function targetExists(
  { db }: { readonly db: Database },
  principal: Principal,
  target: { readonly resource: Resource; readonly id: string },
): Promise<boolean> {
  const tenantId = 'tenantId' in principal ? principal.tenantId : null
  const look = (fn: (tx: Tx) => Promise<boolean>): Promise<boolean> =>
    tenantId === null ? asReader(db, fn) : forTenant(db, tenantId, fn)
  return look(async ({ sql }) => {
    const found =
      target.resource === 'tenant'
        ? await sql`select 1 from tenants where id = ${target.id}`
        : await sql`
            select 1 from users where id = ${target.id} and tenant_id is not distinct from ${tenantId}`
    return found.length > 0
  })
}
