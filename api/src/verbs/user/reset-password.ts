import { ServiceError } from '@service/domain'
import type { AdminResetResponse } from '@service/wire'
import { inScopeOf } from '../../db/scope.ts'
import { setUserPassword } from '../../db/users.ts'
import { randomPassword, TEMPORARY_PASSWORD_LENGTH } from '../../secrets/random.ts'
import { refuseInGrace } from '../grace.ts'
import { type Caller, guardUsers, type UserContext } from './context.ts'
import { auditUser, holdUser } from './rows.ts'
import { refusePlatformAdmin } from './rules.ts'

/**
 * S "Password policy" 5. Of another user only: with the own session alone nobody takes over the own account without
 * its password.
 */
export async function resetPassword(
  ctx: Pick<UserContext, 'db' | 'clock' | 'hashPassword'>,
  { principal, requestId, id }: Caller & { readonly id: string },
): Promise<AdminResetResponse> {
  const actor = guardUsers(principal, 'user.write')
  if (id === actor.userId)
    throw new ServiceError('self_change', 'Change your own password with the one that you have')
  const password = randomPassword(TEMPORARY_PASSWORD_LENGTH)
  const hash = await ctx.hashPassword(password)
  await inScopeOf(ctx.db, actor.tenantId, async (tx) => {
    await refuseInGrace(tx, actor.tenantId)
    const user = await holdUser(tx, actor, id)
    refusePlatformAdmin(actor, user.role)
    await setUserPassword(tx, user, hash, ctx.clock())
    await auditUser(tx, actor, { action: 'auth.password.reset.admin', resourceId: id, requestId })
  })
  return { user_id: id, temporary_password: password, must_change: true }
}
