import type { Principal } from '@service/domain'
import { writeAudit } from '../../db/audit.ts'
import { newId } from '../../db/ids.ts'
import type { Tx } from '../../db/scope.ts'
import { createUserRow } from '../../db/users.ts'
import type { UserContext } from '../user/context.ts'
import { firstPassword } from '../user/first-password.ts'

/** The first tenant_admin before it is written: the slow hash is made outside any transaction. */
export type FirstAdmin = {
  readonly userId: string
  readonly email: string
  /** Null in proxy mode. */
  readonly first: { readonly password: string; readonly hash: string } | null
}

export async function prepareFirstAdmin(
  ctx: Pick<UserContext, 'clock' | 'authMode' | 'hashPassword'>,
  email: string,
): Promise<FirstAdmin> {
  return { userId: newId(ctx.clock), email: email.toLowerCase(), first: await firstPassword(ctx) }
}

/** User, credential that must change if there is one, and audit row, in the tenant's own transaction. */
export async function insertFirstAdmin(
  tx: Tx,
  admin: FirstAdmin,
  by: {
    readonly tenantId: string
    readonly principal: Principal
    readonly requestId: string
    readonly now: Date
  },
): Promise<void> {
  const { tenantId, principal, requestId, now } = by
  const user = { email: admin.email, displayName: admin.email, role: 'tenant_admin' } as const
  await createUserRow(tx, { ...user, id: admin.userId, tenantId }, admin.first?.hash ?? null, now)
  await writeAudit(tx, {
    principal,
    action: 'user.create',
    tenantId,
    resourceType: 'user',
    resourceId: admin.userId,
    after: { email: admin.email, role: user.role, must_change: admin.first !== null },
    actingAs: tenantId,
    requestId,
  })
}
