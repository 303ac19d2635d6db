import { LOCKOUT, PASSWORD, ServiceError } from '@service/domain'
import type { UserPrincipal } from '@service/domain'
import { writeAudit } from '../../db/audit.ts'
import { releaseLogin, replacePassword, reserveCredential } from '../../db/credentials.ts'
import type { CredentialReservation } from '../../db/credentials.ts'
import { asInstall, inScopeOf } from '../../db/scope.ts'
import type { Tx } from '../../db/scope.ts'
import type { AuthContext } from './context.ts'
import { auditLockout, locked } from './login.ts'
import type { SessionRecord } from './session.ts'

export type PasswordChange = {
  readonly principal: UserPrincipal
  readonly session: SessionRecord
  readonly old_password: string
  readonly new_password: string
  readonly requestId: string | null
}

/** Decision 2.4: a wrong old password counts towards the lockout, as a failed login does. */
export async function changePassword(ctx: AuthContext, change: PasswordChange): Promise<void> {
  checkNewPassword(change)
  const reservation = await reserve(ctx, change)
  const outcome = await tryChange(ctx, change, reservation).catch(async (error: unknown) => {
    await release(ctx, change)
    throw error
  })
  if (outcome === 'overtaken') await release(ctx, change)
  if (outcome !== 'changed') throw wrongOldPassword()
}

/** `overtaken`: the old password was right, but somebody else changed it in the meantime. */
async function tryChange(
  ctx: AuthContext,
  change: PasswordChange,
  reservation: CredentialReservation,
): Promise<'changed' | 'wrong' | 'overtaken'> {
  const verdict = await ctx.hasher.verify(reservation.password_hash, change.old_password)
  if (verdict.matches)
    return (await replace(ctx, change, reservation.password_hash)) ? 'changed' : 'overtaken'
  await recordFailure(ctx, change, reservation)
  return 'wrong'
}

function checkNewPassword({ old_password, new_password }: PasswordChange): void {
  const length = Array.from(new_password).length
  if (length < PASSWORD.minLength || length > PASSWORD.maxLength)
    throw invalid('/new_password', 'invalid_length', `must be at least ${PASSWORD.minLength} characters`)
  if (new_password === old_password)
    throw invalid('/new_password', 'unchanged', 'must differ from the old password')
}

const invalid = (pointer: string, code: string, message: string): ServiceError =>
  new ServiceError('validation_failed', undefined, { errors: [{ pointer, code, message }] })

const wrongOldPassword = (): ServiceError =>
  invalid('/old_password', 'incorrect', 'is not the current password')

async function reserve(ctx: AuthContext, change: PasswordChange): Promise<CredentialReservation> {
  const { principal, requestId } = change
  const reservation = await inScopeOf(ctx.db, principal.tenantId, async (tx) => {
    const found = await reserveCredential(tx, principal.userId, ctx.clock())
    if (found?.refused === true) await auditFailure(tx, principal, 'locked', requestId)
    return found
  })
  // A signed-in user of internal mode has a password; whoever lost it meanwhile has nothing to change.
  if (reservation === undefined) throw wrongOldPassword()
  if (reservation.refused) throw locked(reservation.locked_until ?? ctx.clock())
  return reservation
}

async function replace(ctx: AuthContext, change: PasswordChange, verifiedHash: string): Promise<boolean> {
  const { principal, session, requestId } = change
  const newHash = await ctx.hasher.hash(change.new_password)
  return inScopeOf(ctx.db, principal.tenantId, async (tx) => {
    const { userId } = principal
    const now = ctx.clock()
    const done = await replacePassword(tx, { userId, sessionId: session.id, verifiedHash, newHash, now })
    if (!done) return false
    await writeAudit(tx, {
      principal,
      action: 'auth.password.changed',
      tenantId: principal.tenantId,
      resourceType: 'user',
      resourceId: userId,
      requestId,
    })
    return true
  })
}

async function recordFailure(
  ctx: AuthContext,
  { principal, requestId }: PasswordChange,
  reservation: CredentialReservation,
): Promise<void> {
  await inScopeOf(ctx.db, principal.tenantId, async (tx) => {
    await auditFailure(tx, principal, 'bad_password', requestId)
    if (reservation.attempt === LOCKOUT.failures)
      await auditLockout(
        tx,
        { id: principal.userId, tenantId: principal.tenantId },
        reservation.locked_until,
        requestId,
      )
  })
}

async function auditFailure(
  tx: Tx,
  principal: UserPrincipal,
  reason: 'bad_password' | 'locked',
  requestId: string | null,
): Promise<void> {
  await writeAudit(tx, {
    principal,
    action: 'auth.login.failure',
    tenantId: principal.tenantId,
    resourceType: 'user',
    resourceId: principal.userId,
    requestId,
    details: { reason, during: 'password_change' },
  })
}

async function release(ctx: AuthContext, { principal }: PasswordChange): Promise<void> {
  try {
    await asInstall(ctx.db, (tx) => releaseLogin(tx, principal.userId, null))
  } catch (error) {
    ctx.log.warn({ err: error }, 'a password reservation could not be given back')
  }
}
