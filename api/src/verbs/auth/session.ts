import { isMsspRole, permissionsOf, timestamp } from '@service/domain'
import type { Role, UserPrincipal } from '@service/domain'
import type { Identity } from '@service/wire'
import { findSession } from '../../db/credentials.ts'
import type { SessionRow, SignedInRow } from '../../db/credentials.ts'
import { sessionIdOf } from '../../identity/session-id.ts'
import type { AuthContext, AuthHost } from './context.ts'
import { slugOf } from './context.ts'

/** Somebody who is signed in, as they are at this request: the same in both auth modes (S "Session cookie", rule 2). */
export type SignedInUser = {
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
    /** Null when it is entered for this request only. */
    readonly until: Date | null
  } | null
  /** When the session ends, as things stand; null where none is ours to end. */
  readonly expiresAt: Date | null
}
/** A live session and its user. */
export type SessionRecord = SignedInUser & { readonly id: string }

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
  const { pinned_until: until } = row
  return {
    ...userOf(row),
    id,
    mustChange: row.must_change,
    pinned: until === null ? null : pinnedOf(row, until),
    expiresAt: row.idle_expiry < row.absolute_expiry ? row.idle_expiry : row.absolute_expiry,
  }
}

/** Who somebody is, whoever vouches for it. */
export const userOf = (row: SignedInRow) => ({
  userId: row.user_id,
  email: row.email,
  displayName: row.display_name,
  role: row.role,
  tenantId: row.tenant_id,
  tenantSlug: row.tenant_slug,
  tenantDisplayName: row.tenant_display_name,
})

/** The tenant that is pinned; without an end when it holds for one request. */
export function pinnedOf(row: SignedInRow, until: Date | null): SignedInUser['pinned'] {
  const { pinned_id: tenantId, pinned_slug: slug, pinned_display_name: displayName } = row
  return tenantId === null || slug === null || displayName === null
    ? null
    : { tenantId, slug, displayName, until }
}

/** The user as a principal; the role and the tenant must stand on the same side (a CHECK of the table, too). */
export function principalOf(user: {
  readonly userId: string
  readonly role: Role
  readonly tenantId: string | null
  readonly id: string | null
  readonly pinned?: SignedInUser['pinned']
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
export function describeIdentity(ctx: Pick<AuthContext, 'authMode'>, user: SignedInUser): Promise<Identity> {
  const { pinned, expiresAt } = user
  return Promise.resolve({
    user_id: user.userId,
    email: user.email,
    display_name: user.displayName,
    user_type: user.tenantId === null ? 'mssp' : 'tenant',
    role: user.role,
    tenant_id: user.tenantId,
    tenant_slug: user.tenantSlug,
    current_tenant: pinned?.tenantId ?? user.tenantId,
    current_tenant_slug: pinned?.slug ?? user.tenantSlug,
    current_tenant_display_name: pinned?.displayName ?? user.tenantDisplayName,
    current_tenant_expires_at: at(pinned?.until),
    must_change: user.mustChange,
    session_expires_at: at(expiresAt),
    auth_mode: ctx.authMode,
    permissions: [...permissionsOf(user.role)],
  })
}

const at = (time: Date | null | undefined): string | null =>
  time === null || time === undefined ? null : timestamp(time)
