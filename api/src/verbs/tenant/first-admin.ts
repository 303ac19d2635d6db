import type { Clock, Principal } from '@service/domain'
import { writeAudit } from '../../db/audit.ts'
import { newId } from '../../db/ids.ts'
import { users } from '../../db/schema/index.ts'
import type { Tx } from '../../db/scope.ts'
import { randomPassword } from '../../secrets/random.ts'

const PASSWORD_LENGTH = 24

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
  const temporaryPassword = randomPassword(PASSWORD_LENGTH)
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
  await tx.q
    .insert(users)
    .values({ ...user, id: admin.userId, tenantId, active: true, createdAt: now, updatedAt: now })
  await tx.sql`select public.create_credential(${admin.userId}, ${admin.passwordHash}, true, ${now})`
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
