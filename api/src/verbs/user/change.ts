import type { AuditAction } from '@service/domain'
import type { User, UserUpdate } from '@service/wire'
import { inScopeOf } from '../../db/scope.ts'
import { updateUserRow } from '../../db/users.ts'
import { refuseInGrace } from '../grace.ts'
import { type Caller, guardUsers, type UserContext } from './context.ts'
import { auditUser, holdUser, userSnapshot, userView } from './rows.ts'
import { changeUser, type UserChange } from './rules.ts'

type Target = Caller & { readonly id: string }
type Context = Pick<UserContext, 'db' | 'clock'>

export const updateUser = (ctx: Context, target: Target & { readonly change: UserUpdate }): Promise<User> => {
  const { role, display_name } = target.change
  return apply(ctx, target, { role, displayName: display_name }, 'user.update')
}

export const deactivateUser = (ctx: Context, target: Target): Promise<User> =>
  apply(ctx, target, { active: false }, 'user.deactivate')

export const reactivateUser = (ctx: Context, target: Target): Promise<User> =>
  apply(ctx, target, { active: true }, 'user.reactivate')

/** A change that changes nothing writes nothing, so that it may be repeated (decision 4). */
async function apply(
  ctx: Context,
  { principal, requestId, id }: Target,
  change: UserChange,
  action: AuditAction,
): Promise<User> {
  const actor = guardUsers(principal, 'user.write')
  return inScopeOf(ctx.db, actor.tenantId, async (tx) => {
    await refuseInGrace(tx, actor.tenantId)
    const user = await holdUser(tx, actor, id)
    const changed = changeUser(actor, user, change)
    const [before, after] = [userSnapshot(user), userSnapshot(changed)]
    if (JSON.stringify(before) === JSON.stringify(after)) return userView(user)
    await updateUserRow(tx, changed, ctx.clock())
    await auditUser(tx, actor, { action, resourceId: id, requestId, before, after })
    return userView(changed)
  })
}
