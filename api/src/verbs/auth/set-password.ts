import { type Clock, PASSWORD, ServiceError, type SystemPrincipal } from '@service/domain'
import { text } from '@service/wire'
import * as v from 'valibot'
import { writeAudit } from '../../db/audit.ts'
import type { Database } from '../../db/database.ts'
import { asSystem, inScopeOf } from '../../db/scope.ts'
import { setUserPassword } from '../../db/users.ts'
import { normalizeEmail } from '../../identity/email.ts'

export type SetPasswordContext = {
  readonly db: Database
  readonly clock: Clock
  readonly hashPassword: (password: string) => Promise<string>
}
export type PasswordOwner = { readonly id: string; readonly tenantId: string | null; readonly email: string }

/** Whoever may run a command in the pod; no user stands behind it. */
const OPERATOR: SystemPrincipal = { kind: 'system', reason: 'service-auth' }

/** Of either side, by address. Fails with `not_found`: this makes no users (S "Command-line helper"). */
export async function findPasswordOwner(
  ctx: Pick<SetPasswordContext, 'db'>,
  email: string,
): Promise<PasswordOwner> {
  const [user] = await asSystem(
    ctx.db,
    OPERATOR.reason,
    ({ sql }) => sql<{ id: string; tenant_id: string | null; email: string }[]>`
      select id, tenant_id, email from users where lower(email) = ${normalizeEmail(email)}`,
  )
  if (user === undefined) throw new ServiceError('not_found', 'There is no user with this address')
  return { id: user.id, tenantId: user.tenant_id, email: user.email }
}

/** S "Password policy" 2; fails with `validation_failed`. */
export function checkPassword(password: string): void {
  if (v.is(text(PASSWORD.minLength, PASSWORD.maxLength), password)) return
  const message = `must be ${PASSWORD.minLength} to ${PASSWORD.maxLength} characters, without NUL`
  const errors = [{ pointer: '/password', code: 'invalid_length', message }]
  throw new ServiceError('validation_failed', `The password ${message}`, { errors })
}

/** To be changed at the next login; all sessions of the user end. */
export async function setPassword(
  ctx: SetPasswordContext,
  { user, password }: { readonly user: PasswordOwner; readonly password: string },
): Promise<void> {
  checkPassword(password)
  const hash = await ctx.hashPassword(password)
  await inScopeOf(ctx.db, user.tenantId, async (tx) => {
    await setUserPassword(tx, user, hash, ctx.clock())
    await writeAudit(tx, {
      principal: OPERATOR,
      action: 'auth.password.reset.admin',
      tenantId: user.tenantId,
      resourceType: 'user',
      resourceId: user.id,
      requestId: null,
    })
  })
}
