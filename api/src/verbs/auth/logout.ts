import { writeAudit } from '../../db/audit.ts'
import { revokeSession } from '../../db/credentials.ts'
import { asInstall, enterTenant } from '../../db/scope.ts'
import { sessionIdOf } from '../../identity/session-id.ts'
import type { AuthContext } from './context.ts'
import { principalOf } from './session.ts'

/** Ends the session of this cookie; with a dead one there is nothing to do and nothing to tell (decision 2.4). */
export async function logout(
  ctx: Pick<AuthContext, 'db' | 'clock'>,
  input: { readonly cookie: string | null; readonly requestId: string | null },
): Promise<void> {
  const id = input.cookie === null ? null : sessionIdOf(input.cookie)
  if (id === null) return
  await asInstall(ctx.db, async (tx) => {
    const ended = await revokeSession(tx, id, ctx.clock())
    if (ended === undefined) return
    const { user_id: userId, tenant_id: tenantId, role } = ended
    if (tenantId !== null) await enterTenant(tx, tenantId)
    await writeAudit(tx, {
      principal: principalOf({ userId, role, tenantId, id }),
      action: 'auth.logout',
      tenantId,
      resourceType: 'session',
      resourceId: null,
      requestId: input.requestId,
    })
  })
}
