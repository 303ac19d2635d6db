import { ServiceError } from '@service/domain'
import type { UserPrincipal } from '@service/domain'
import { uuid } from '@service/wire'
import * as v from 'valibot'
import { writeAudit } from '../../db/audit.ts'
import { enteredLately, findProxiedUser } from '../../db/proxied-users.ts'
import type { ProxiedUserRow } from '../../db/proxied-users.ts'
import { forTenant } from '../../db/scope.ts'
import { guardMssp } from '../guard.ts'
import type { AuthContext, AuthHost } from './context.ts'
import { slugOf } from './context.ts'
import { pinnedOf, principalOf, userOf } from './session.ts'
import type { SignedInUser } from './session.ts'

/** Of the tenant that a request names: none named, not there, there and to be told in the audit log, told already. */
export type Entry = 'none' | 'unknown' | 'new' | 'told'
export type Proxied = {
  readonly principal: UserPrincipal
  readonly user: SignedInUser
  readonly entry: Entry
}

/**
 * Whom the identity proxy vouches for (decision 2.7). The user has to be there already, active and of this host; nothing is
 * made or changed by a request's headers.
 */
export async function resolveProxied(
  ctx: Pick<AuthContext, 'db'>,
  request: { readonly email: string; readonly host: AuthHost; readonly tenant: string | null },
): Promise<Proxied> {
  const { email, host, tenant } = request
  const tenantId = v.is(uuid, tenant) ? tenant : null
  const tenantSlug = tenantId === null ? tenant : null
  const row = await findProxiedUser(ctx.db, { email, host: slugOf(host), tenantId, tenantSlug })
  if (row === undefined)
    throw new ServiceError('wrong_audience', 'Nobody who may sign in at this host has this address')
  const user = proxiedUser(row)
  return { principal: principalOf({ ...user, id: null }), user, entry: entryOf(row, tenant) }
}

/** A customer has the own tenant and no other: what the header names is for MSSP staff. */
function entryOf(row: ProxiedUserRow, tenant: string | null): Entry {
  if (tenant === null || row.tenant_id !== null) return 'none'
  if (row.pinned_id === null) return 'unknown'
  return row.entered ? 'told' : 'new'
}

function proxiedUser(row: ProxiedUserRow): SignedInUser {
  return {
    ...userOf(row),
    // The password that would have to be changed is not the one that people sign in with.
    mustChange: false,
    pinned: pinnedOf(row, null),
    expiresAt: null,
  }
}

/** Lets a request into the tenant that it names, once every check of its user has passed; told once in 30 minutes. */
export async function enterProxied(
  ctx: Pick<AuthContext, 'db'>,
  request: Pick<Proxied, 'principal' | 'entry'> & { readonly requestId: string },
): Promise<void> {
  const { principal, entry, requestId } = request
  if (entry === 'none' || entry === 'told') return
  guardMssp(principal, 'tenant.assume')
  const tenantId = principal.currentTenant
  if (entry === 'unknown' || tenantId === null) throw new ServiceError('not_found', 'There is no such tenant')
  await forTenant(ctx.db, tenantId, async (tx) => {
    if (await enteredLately(tx, principal.userId, tenantId)) return
    await writeAudit(tx, {
      principal,
      action: 'tenant.assume',
      tenantId,
      resourceType: 'tenant',
      resourceId: tenantId,
      actingAs: tenantId,
      requestId,
    })
  })
}
