import { ServiceError, timestamp, type UserPrincipal } from '@service/domain'
import type { User } from '@service/wire'
import { type AuditEntry, writeAudit } from '../../db/audit.ts'
import type { Tx } from '../../db/scope.ts'
import { type LockedUser, lockUser, type UserRow } from '../../db/users.ts'
import { adminRoleOf } from './rules.ts'

/** Decision 4. */
export const userView = (row: UserRow): User => ({
  id: row.id,
  email: row.email,
  display_name: row.displayName,
  role: row.role,
  tenant_id: row.tenantId,
  active: row.active,
  must_change: row.mustChange,
  last_login_at: row.lastLoginAt === null ? null : timestamp(row.lastLoginAt),
  created_at: timestamp(row.createdAt),
})

/** What the audit log keeps of a user. */
export const userSnapshot = (row: UserRow) => ({
  email: row.email,
  display_name: row.displayName,
  role: row.role,
  active: row.active,
})

/** A user of the caller's own side; anybody else is an unknown one. */
export async function holdUser(tx: Tx, actor: UserPrincipal, id: string): Promise<LockedUser> {
  const { tenantId } = actor
  const user = await lockUser(tx, { tenantId, id, adminRole: adminRoleOf(tenantId) })
  if (user === undefined) throw new ServiceError('not_found')
  return user
}

export const auditUser = (
  tx: Tx,
  actor: UserPrincipal,
  entry: Pick<AuditEntry, 'action' | 'resourceId' | 'requestId' | 'before' | 'after'>,
): Promise<void> =>
  writeAudit(tx, { ...entry, principal: actor, tenantId: actor.tenantId, resourceType: 'user' })
