import { isMsspRole, permissionsOf, timestamp } from '@service/domain'
import type { Role, UserPrincipal } from '@service/domain'
import type { Identity } from '@service/wire'
import { findSession } from '../../db/credentials.ts'
import type { SessionRow } from '../../db/credentials.ts'
import { sessionIdOf } from '../../identity/session-id.ts'
import type { AuthContext, AuthHost } from './context.ts'
import { slugOf } from './context.ts'

/** A live session and its user, as they are at this request. */
export type SessionRecord = {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly displayName: string
  readonly role: Role
  readonly tenantId: string | null
  readonly tenantSlug: string | null
  readonly tenantDisplayName: string | null
  readonly mustChange: boolean
  /** The tenant that an MSSP user has entered (decision 2.6). */
  readonly pinned: {
    readonly tenantId: string
    readonly slug: string
    readonly displayName: string
    readonly until: Date
  } | null
  readonly absoluteExpiry: Date
  readonly idleExpiry: Date
}

export type SignedIn = { readonly principal: UserPrincipal; readonly session: SessionRecord }

/** Who a cookie speaks for at this host; null for every reason why it speaks for nobody. Slides the idle expiry. */
export async function resolveSession(
  ctx: Pick<AuthContext, 'db' | 'clock'>,
  request: { readonly cookie: string; readonly host: AuthHost },
): Promise<SignedIn | null> {
  const id = sessionIdOf(request.cookie)
  if (id === null) return null
  const row = await findSession(ctx.db, id, slugOf(request.host), ctx.clock())
  if (row === undefined) return null
  const session = sessionOf(id, row)
  return { principal: principalOf(session), session }
}

function sessionOf(id: string, row: SessionRow): SessionRecord {
  const { pinned_id, pinned_slug, pinned_display_name, pinned_until } = row
  const isPinned =
    pinned_id !== null && pinned_slug !== null && pinned_display_name !== null && pinned_until !== null
  return {
    id,
    userId: row.user_id,
    email: row.email,
    displayName: row.display_name,
    role: row.role,
    tenantId: row.tenant_id,
    tenantSlug: row.tenant_slug,
    tenantDisplayName: row.tenant_display_name,
    mustChange: row.must_change,
    pinned: isPinned
      ? { tenantId: pinned_id, slug: pinned_slug, displayName: pinned_display_name, until: pinned_until }
      : null,
    absoluteExpiry: row.absolute_expiry,
    idleExpiry: row.idle_expiry,
  }
}

/** The user as a principal; the role and the tenant must stand on the same side (a CHECK of the table, too). */
export function principalOf(user: {
  readonly userId: string
  readonly role: Role
  readonly tenantId: string | null
  readonly id: string | null
  readonly pinned?: SessionRecord['pinned']
}): UserPrincipal {
  const { userId, role, tenantId } = user
  const common = { kind: 'user', userId, sessionId: user.id } as const
  const currentTenant = user.pinned?.tenantId ?? null
  if (isMsspRole(role) && tenantId === null)
    return { ...common, audience: 'mssp', role, tenantId, currentTenant }
  if (!isMsspRole(role) && tenantId !== null) return { ...common, audience: 'tenant', role, tenantId }
  throw new Error(`user ${userId} has a role of the other side`)
}

/** Decision 2.5. */
export function describeIdentity(
  ctx: Pick<AuthContext, 'authMode'>,
  session: SessionRecord,
): Promise<Identity> {
  const { pinned } = session
  const expiry = session.idleExpiry < session.absoluteExpiry ? session.idleExpiry : session.absoluteExpiry
  return Promise.resolve({
    user_id: session.userId,
    email: session.email,
    display_name: session.displayName,
    user_type: session.tenantId === null ? 'mssp' : 'tenant',
    role: session.role,
    tenant_id: session.tenantId,
    tenant_slug: session.tenantSlug,
    current_tenant: pinned?.tenantId ?? session.tenantId,
    current_tenant_slug: pinned?.slug ?? session.tenantSlug,
    current_tenant_display_name: pinned?.displayName ?? session.tenantDisplayName,
    current_tenant_expires_at: pinned === null ? null : timestamp(pinned.until),
    must_change: session.mustChange,
    session_expires_at: timestamp(expiry),
    auth_mode: ctx.authMode,
    permissions: [...permissionsOf(session.role)],
  })
}
