import type { Role } from '@service/domain'
import type { Tx } from './scope.ts'

/** The doors to users that row-level security shows to nobody, and to credentials (migration users). */

/** As the functions of the database answer it. `tenantId` null is the MSSP. */
export type UserRow = {
  readonly id: string
  readonly tenantId: string | null
  readonly email: string
  readonly displayName: string
  readonly role: Role
  readonly active: boolean
  readonly mustChange: boolean
  readonly lastLoginAt: Date | null
  readonly createdAt: Date
}
export type LockedUser = UserRow & {
  /** Active users with the administrator's role, without this one. */
  readonly otherAdmins: number
}

type LockedRow = {
  id: string
  tenant_id: string | null
  email: string
  display_name: string
  role: Role
  active: boolean
  must_change: boolean
  last_login_at: Date | null
  created_at: Date
  other_admins: number
}

/** Holds the user, and the scope's administrators, until the transaction ends. Undefined: none of this scope. */
export async function lockUser(
  tx: Tx,
  who: { readonly tenantId: string | null; readonly id: string; readonly adminRole: Role },
): Promise<LockedUser | undefined> {
  const [row] = await tx.sql<LockedRow[]>`
    select * from public.user_lock(${who.tenantId}, ${who.id}, ${who.adminRole})`
  if (row === undefined) return undefined
  return {
    id: row.id,
    tenantId: row.tenant_id,
    email: row.email,
    displayName: row.display_name,
    role: row.role,
    active: row.active,
    mustChange: row.must_change,
    lastLoginAt: row.last_login_at,
    createdAt: row.created_at,
    otherAdmins: row.other_admins,
  }
}

/** With a password, it has to be changed at the first login. Fails with a unique violation of `users_email`. */
export async function createUserRow(
  tx: Tx,
  user: Pick<UserRow, 'id' | 'tenantId' | 'email' | 'displayName' | 'role'>,
  passwordHash: string | null,
  now: Date,
): Promise<void> {
  await tx.sql`
    select public.user_create(${user.tenantId}, ${user.id}, ${user.email}, ${user.displayName}, ${user.role},
      ${passwordHash}, ${now})`
}

/** Ends all sessions when role or activity become others. */
export async function updateUserRow(tx: Tx, user: UserRow, now: Date): Promise<void> {
  await tx.sql`
    select public.user_update(${user.tenantId}, ${user.id}, ${user.displayName}, ${user.role}, ${user.active}, ${now})`
}

/** A password that has to be changed at the next login; ends all sessions and any lockout. */
export async function setUserPassword(
  tx: Tx,
  user: Pick<UserRow, 'id' | 'tenantId'>,
  passwordHash: string,
  now: Date,
): Promise<void> {
  await tx.sql`select public.user_set_password(${user.tenantId}, ${user.id}, ${passwordHash}, ${now})`
}
