import { ServiceError } from '@service/domain'
import type { UserCreate, UserCreated } from '@service/wire'
import { isUniqueViolation } from '../../db/errors.ts'
import { newId } from '../../db/ids.ts'
import { inScopeOf } from '../../db/scope.ts'
import { createUserRow, type UserRow } from '../../db/users.ts'
import { normalizeEmail } from '../../identity/email.ts'
import { refuseInGrace } from '../grace.ts'
import { type Caller, guardUsers, type UserContext } from './context.ts'
import { firstPassword } from './first-password.ts'
import { auditUser, userSnapshot, userView } from './rows.ts'
import { refusePlatformAdmin } from './rules.ts'

/** A user of the caller's own side, with a temporary password that is stored nowhere but as its hash. */
export async function createUser(
  ctx: UserContext,
  { principal, requestId, user: input }: Caller & { readonly user: UserCreate },
): Promise<UserCreated> {
  const actor = guardUsers(principal, 'user.write')
  refusePlatformAdmin(actor, input.role)
  const first = await firstPassword(ctx)
  const now = ctx.clock()
  const user: UserRow = {
    id: newId(ctx.clock),
    tenantId: actor.tenantId,
    email: normalizeEmail(input.email),
    displayName: input.display_name ?? input.email,
    role: input.role,
    active: true,
    mustChange: first !== null,
    lastLoginAt: null,
    createdAt: now,
  }
  await inScopeOf(ctx.db, actor.tenantId, async (tx) => {
    await refuseInGrace(tx, actor.tenantId)
    await createUserRow(tx, user, first?.hash ?? null, now)
    const after = userSnapshot(user)
    await auditUser(tx, actor, { action: 'user.create', resourceId: user.id, requestId, after })
  }).catch((error: unknown) => {
    throw isUniqueViolation(error, 'users_email') ? new ServiceError('email_taken') : error
  })
  return { ...userView(user), temporary_password: first?.password ?? null }
}
