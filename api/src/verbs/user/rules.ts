import { type Role, ServiceError, type UserPrincipal } from '@service/domain'
import type { LockedUser, UserRow } from '../../db/users.ts'
import { hasCapability } from '../guard.ts'

/** Who can always let others in again: of these one has to stay (decision 4). */
export const adminRoleOf = (tenantId: string | null): Role =>
  tenantId === null ? 'platform_admin' : 'tenant_admin'

export type UserChange = {
  readonly displayName?: string | undefined
  readonly role?: Role | undefined
  readonly active?: boolean
}

/** What a user becomes, or why not (decision 4): `forbidden_target`, `self_change`, `last_admin`. Pure. */
export function changeUser(actor: UserPrincipal, user: LockedUser, change: UserChange): UserRow {
  refusePlatformAdmin(actor, user.role)
  if (change.role !== undefined) refusePlatformAdmin(actor, change.role)
  const { otherAdmins, ...before } = user
  const after: UserRow = {
    ...before,
    displayName: change.displayName ?? before.displayName,
    role: change.role ?? before.role,
    active: change.active ?? before.active,
  }
  const moved = after.role !== before.role || after.active !== before.active
  if (moved && before.id === actor.userId) throw new ServiceError('self_change')
  if (isAdmin(before) && !isAdmin(after) && otherAdmins === 0) throw new ServiceError('last_admin')
  return after
}

/** Making or touching a platform_admin needs the capability for that. */
export function refusePlatformAdmin(actor: UserPrincipal, role: Role): void {
  if (role === 'platform_admin' && !hasCapability(actor, 'platform.admin'))
    throw new ServiceError('forbidden_target', 'Only a platform_admin may make or change a platform_admin')
}

const isAdmin = (user: UserRow): boolean => user.active && user.role === adminRoleOf(user.tenantId)
