import { isIP } from 'node:net'
import { LOCKOUT, SESSION, ServiceError, timestamp } from '@service/domain'
import type { LoginFailureReason, Principal } from '@service/domain'
import type { LoginResponse } from '@service/wire'
import { writeAudit } from '../../db/audit.ts'
import { releaseLogin, reserveLogin, succeedLogin, sweepLogins } from '../../db/credentials.ts'
import type { LoginUser, Reservation } from '../../db/credentials.ts'
import { asInstall, enterTenant, inScopeOf } from '../../db/scope.ts'
import type { Tx } from '../../db/scope.ts'
import { emailHmac, normalizeEmail } from '../../identity/email.ts'
import { newSessionId } from '../../identity/session-id.ts'
import { slugOf } from './context.ts'
import type { AuthContext, AuthHost } from './context.ts'
import { describeIdentity, principalOf, resolveSession } from './session.ts'
import type { SessionRecord } from './session.ts'

export type LoginInput = {
  readonly email: string
  readonly password: string
  readonly ip: string
  readonly userAgent: string | null
  readonly requestId: string | null
  readonly host: AuthHost
}
export type LoggedIn = {
  readonly cookie: string
  readonly sessionId: string
  readonly absoluteExpiry: Date
  readonly response: LoginResponse
}

type Granted = Extract<Reservation, { refused: false }>
type Attempt = { readonly ctx: AuthContext; readonly input: LoginInput; readonly emailHmac: Uint8Array }

const SYSTEM_AUTH: Principal = { kind: 'system', reason: 'auth' }
const USER_AGENT_LENGTH = 512

/**
 * Decisions 2.1 to 2.3. One failure is reserved in the database before the password is looked at, so that attempts
 * running at the same time cannot pass the limit; unknown addresses take the same way at the same cost.
 */
export async function login(ctx: AuthContext, input: LoginInput): Promise<LoggedIn> {
  const permit = await ctx.limiter.admit({ ip: input.ip, email: normalizeEmail(input.email) })
  const attempt: Attempt = { ctx, input, emailHmac: emailHmac(ctx.emailHmacKey, input.email) }
  try {
    const loggedIn = await tryPassword(attempt, await reserve(attempt))
    await permit.refund()
    return loggedIn
  } catch (error) {
    const failed = error instanceof ServiceError && error.code !== 'unavailable'
    if (!failed) await permit.refund()
    throw error
  }
}

async function reserve({ ctx, input, emailHmac }: Attempt): Promise<Granted> {
  const now = ctx.clock()
  const who = { email: normalizeEmail(input.email), emailHmac, host: slugOf(input.host), now }
  const reservation = await asInstall(ctx.db, async (tx) => {
    const found = await reserveLogin(tx, who)
    if (found.refused) {
      if (found.user !== null && found.user.tenantId !== null) await enterTenant(tx, found.user.tenantId)
      await auditFailure(tx, input, found.user, 'locked')
    }
    return found
  })
  if (reservation.refused) throw locked(reservation.lockedUntil)
  return reservation
}

export const locked = (until: Date): ServiceError =>
  new ServiceError('account_locked', `Too many failed attempts; locked until ${timestamp(until)}`, {
    locked_until: timestamp(until),
  })

async function tryPassword(attempt: Attempt, reservation: Granted): Promise<LoggedIn> {
  const { ctx, input } = attempt
  const { user, passwordHash } = reservation
  try {
    const verdict = await ctx.hasher.verify(passwordHash, input.password)
    if (verdict.matches && user?.active === true && passwordHash !== null) {
      const session = await openSession(attempt, user, { hash: passwordHash, fresh: verdict.fresh })
      if (session !== null) return session
    }
    await recordFailure(attempt, reservation)
  } catch (error) {
    await release(attempt, user)
    throw error
  }
  throw new ServiceError('invalid_credentials')
}

/** Null when the user or the password has changed in the meantime. */
async function openSession(
  { ctx, input }: Attempt,
  user: LoginUser,
  verified: { readonly hash: string; readonly fresh: string | null },
): Promise<LoggedIn | null> {
  const { id, cookie } = newSessionId()
  const now = ctx.clock()
  const absoluteExpiry = new Date(now.getTime() + SESSION.absoluteMs)
  const opened = await inScopeOf(ctx.db, user.tenantId, async (tx) => {
    const succeeded = await succeedLogin(
      tx,
      { ...verified, userId: user.id },
      {
        sessionId: id,
        now,
        absoluteExpiry,
        idleExpiry: new Date(now.getTime() + SESSION.idleMs),
        ip: storableAddress(input.ip),
        userAgent: input.userAgent?.slice(0, USER_AGENT_LENGTH) ?? null,
      },
    )
    if (!succeeded) return false
    await writeAudit(tx, {
      principal: principalOf({ ...user, userId: user.id, id }),
      action: 'auth.login.success',
      tenantId: user.tenantId,
      resourceType: 'user',
      resourceId: user.id,
      requestId: input.requestId,
      details: { ip: storableAddress(input.ip) },
    })
    return true
  })
  if (!opened) return null
  const signedIn = await resolveSession(ctx, { cookie, host: input.host })
  if (signedIn === null) return null
  const response = await loginResponse(ctx, signedIn.session)
  return { cookie, sessionId: id, absoluteExpiry, response }
}

async function loginResponse(ctx: AuthContext, session: SessionRecord): Promise<LoginResponse> {
  return { user: await describeIdentity(ctx, session), must_change: session.mustChange }
}

/** The counter is committed already, by the reservation; the row follows before the answer. */
async function recordFailure({ ctx, input }: Attempt, reservation: Granted): Promise<void> {
  const { user, attempt, passwordHash, lockedUntil } = reservation
  await inScopeOf(ctx.db, user?.tenantId ?? null, async (tx) => {
    await auditFailure(tx, input, user, user === null ? 'unknown_email' : 'bad_password')
    if (user !== null && passwordHash !== null && attempt === LOCKOUT.failures)
      await auditLockout(tx, user, lockedUntil, input.requestId)
  })
  await sweepSometimes(ctx)
}

async function auditFailure(
  tx: Tx,
  input: LoginInput,
  user: LoginUser | null,
  reason: LoginFailureReason,
): Promise<void> {
  await writeAudit(tx, {
    principal: user === null ? SYSTEM_AUTH : principalOf({ ...user, userId: user.id, id: null }),
    action: 'auth.login.failure',
    tenantId: user?.tenantId ?? null,
    resourceType: 'user',
    resourceId: user?.id ?? null,
    requestId: input.requestId,
    // Of an unknown address nobody needs to read that it would have been locked.
    details: { reason: user === null ? 'unknown_email' : reason, ip: storableAddress(input.ip) },
  })
}

export async function auditLockout(
  tx: Tx,
  user: Pick<LoginUser, 'id' | 'tenantId'>,
  lockedUntil: Date | null,
  requestId: string | null,
): Promise<void> {
  await writeAudit(tx, {
    principal: SYSTEM_AUTH,
    action: 'auth.lockout.triggered',
    tenantId: user.tenantId,
    resourceType: 'user',
    resourceId: user.id,
    requestId,
    details: { locked_until: lockedUntil === null ? null : timestamp(lockedUntil) },
  })
}

/** No outcome was told to anybody: the attempt does not count. What cannot be given back stays counted. */
async function release({ ctx, emailHmac }: Attempt, user: LoginUser | null): Promise<void> {
  try {
    await asInstall(ctx.db, (tx) => releaseLogin(tx, user?.id ?? null, emailHmac))
  } catch (error) {
    ctx.log.warn({ err: error }, 'a login reservation could not be given back')
  }
}

const SWEEP_MS = 60_000
const SHADOWS_KEPT = 50_000

async function sweepSometimes(ctx: AuthContext): Promise<void> {
  const last = ctx.db.lastRuns.get('login.sweep')
  const now = performance.now()
  if (last !== undefined && now - last < SWEEP_MS) return
  ctx.db.lastRuns.set('login.sweep', now)
  await asInstall(ctx.db, (tx) => sweepLogins(tx, ctx.clock(), SHADOWS_KEPT))
}

function storableAddress(ip: string): string | null {
  const address = ip.split('%')[0] ?? ''
  return isIP(address) === 0 ? null : address
}
