import type { Clock, Principal } from '@service/domain'
import { writeAudit } from '../../db/audit.ts'
import { newId } from '../../db/ids.ts'
import type { Tx } from '../../db/scope.ts'
import { createUserRow } from '../../db/users.ts'
import { randomPassword, TEMPORARY_PASSWORD_LENGTH } from '../../secrets/random.ts'

/** The first tenant_admin before it is written: the slow hash is made outside any transaction. */
export type FirstAdmin = {
  readonly userId: string
  readonly email: string
  readonly temporaryPassword: string
  readonly passwordHash: string
}

export async function prepareFirstAdmin(
  ctx: { readonly clock: Clock; readonly hashPassword: (password: string) => Promise<string> },
  email: string,
): Promise<FirstAdmin> {
  const temporaryPassword = randomPassword(TEMPORARY_PASSWORD_LENGTH)
  const passwordHash = await ctx.hashPassword(temporaryPassword)
  return { userId: newId(ctx.clock), email: email.toLowerCase(), temporaryPassword, passwordHash }
}

/** User, credential that must change, and audit row, in the tenant's own transaction. */
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
  await createUserRow(tx, { ...user, id: admin.userId, tenantId }, admin.passwordHash, now)
  await writeAudit(tx, {
    principal,
    action: 'user.create',
    tenantId,
    resourceType: 'user',
    resourceId: admin.userId,
    after: { email: admin.email, role: user.role, must_change: true },
    actingAs: tenantId,
    requestId,
  })
}
