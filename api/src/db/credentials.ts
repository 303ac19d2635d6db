import { LOCKOUT, SESSION } from '@service/domain'
import type { Role } from '@service/domain'
import type { Database } from './database.ts'
import type { Tx } from './scope.ts'

/** The doors to the tables that nobody has a grant on: each is a function of the database (migration identity). */

/** Null is the MSSP host, else the slug of a customer host (decision 2.10). */
export type HostSlug = string | null

export type LoginUser = {
  readonly id: string
  readonly tenantId: string | null
  readonly role: Role
  readonly active: boolean
}
export type Reservation =
  | { readonly refused: true; readonly user: LoginUser | null; readonly lockedUntil: Date }
  | {
      readonly refused: false
      readonly user: LoginUser | null
      /** Null without a credential: then the shadow of the address counts. */
      readonly passwordHash: string | null
      /** Which failure of the window this will be, if it is one. */
      readonly attempt: number
      readonly lockedUntil: Date | null
    }

type ReserveRow = {
  user_id: string | null
  tenant_id: string | null
  role: Role
  active: boolean
  password_hash: string | null
  refused: boolean
  attempt: number
  locked_until: Date | null
}

/** Counts one failure before any password is verified; a success gives it back (decision 2.2). */
export async function reserveLogin(
  tx: Tx,
  who: {
    readonly email: string
    readonly emailHmac: Uint8Array
    readonly host: HostSlug
    readonly now: Date
  },
): Promise<Reservation> {
  const rows = await tx.sql<ReserveRow[]>`
    select * from public.login_reserve(${who.email}, ${Buffer.from(who.emailHmac)}, ${who.host}, ${who.now},
      ${LOCKOUT.failures}, ${LOCKOUT.windowMs}, ${LOCKOUT.lockedMs})`
  const row = only(rows)
  const user =
    row.user_id === null
      ? null
      : { id: row.user_id, tenantId: row.tenant_id, role: row.role, active: row.active }
  if (row.refused) return { refused: true, user, lockedUntil: row.locked_until ?? who.now }
  return {
    refused: false,
    user,
    passwordHash: row.password_hash,
    attempt: row.attempt,
    lockedUntil: row.locked_until,
  }
}

/** Gives back a reservation whose outcome could not be found out or recorded. */
export async function releaseLogin(
  tx: Tx,
  userId: string | null,
  emailHmac: Uint8Array | null,
): Promise<void> {
  const hmac = emailHmac === null ? null : Buffer.from(emailHmac)
  await tx.sql`select public.login_release(${userId}, ${hmac}, ${LOCKOUT.failures})`
}

export type NewSession = {
  readonly sessionId: string
  readonly now: Date
  readonly absoluteExpiry: Date
  readonly idleExpiry: Date
  readonly ip: string | null
  readonly userAgent: string | null
}

/** False when the password or the user has changed since the hash was read. */
export async function succeedLogin(
  tx: Tx,
  verified: { readonly userId: string; readonly hash: string; readonly fresh: string | null },
  session: NewSession,
): Promise<boolean> {
  const rows = await tx.sql<{ ok: boolean }[]>`
    select public.login_succeed(${verified.userId}, ${verified.hash}, ${verified.fresh}, ${session.sessionId},
      ${session.now}, ${session.absoluteExpiry}, ${session.idleExpiry}, ${session.ip}, ${session.userAgent}) as ok`
  return only(rows).ok
}

/** Forgets unknown addresses whose window and lock are long over, and the oldest beyond `keep`. */
export async function sweepLogins(tx: Tx, now: Date, keep: number): Promise<number> {
  const overMs = LOCKOUT.windowMs + LOCKOUT.lockedMs
  const rows = await tx.sql<{ gone: number }[]>`select public.login_sweep(${now}, ${overMs}, ${keep}) as gone`
  return only(rows).gone
}

/** Somebody signed in, with the tenant and the pin, in whatever way the service knows of it. */
export type SignedInRow = {
  user_id: string
  email: string
  display_name: string
  role: Role
  tenant_id: string | null
  tenant_slug: string | null
  tenant_display_name: string | null
  pinned_id: string | null
  pinned_slug: string | null
  pinned_display_name: string | null
}
export type SessionRow = SignedInRow & {
  must_change: boolean
  absolute_expiry: Date
  idle_expiry: Date
  pinned_until: Date | null
}

/** One prepared statement without a transaction around it: every request of a person begins with it. */
export async function findSession(
  db: Database,
  id: string,
  host: HostSlug,
  now: Date,
): Promise<SessionRow | undefined> {
  const rows = await db.app<SessionRow[]>`
    select * from public.session_resolve(${id}, ${host}, ${now}, ${SESSION.idleMs}, ${SESSION.touchIntervalMs})`
  return rows[0]
}

export type EndedSession = { user_id: string; tenant_id: string | null; role: Role }

/** Whose session it was; undefined when it was dead already. */
export async function revokeSession(tx: Tx, id: string, now: Date): Promise<EndedSession | undefined> {
  const rows = await tx.sql<EndedSession[]>`select * from public.session_revoke(${id}, ${now})`
  return rows[0]
}

/** False when the session no longer lives, or is none of MSSP staff. */
export async function pinSession(
  tx: Tx,
  id: string,
  pin: { readonly tenantId: string; readonly until: Date } | null,
  now: Date,
): Promise<boolean> {
  const rows = await tx.sql<{ ok: boolean }[]>`
    select public.session_pin(${id}, ${pin?.tenantId ?? null}, ${pin?.until ?? null}, ${now}) as ok`
  return only(rows).ok
}

export type CredentialReservation = {
  password_hash: string
  refused: boolean
  attempt: number
  locked_until: Date | null
}

/** As `reserveLogin`, for the old password of somebody who is signed in. */
export async function reserveCredential(
  tx: Tx,
  userId: string,
  now: Date,
): Promise<CredentialReservation | undefined> {
  const rows = await tx.sql<CredentialReservation[]>`
    select * from public.credential_reserve(${userId}, ${now}, ${LOCKOUT.failures}, ${LOCKOUT.windowMs},
      ${LOCKOUT.lockedMs})`
  return rows[0]
}

/** False when the password has changed since it was verified. Ends the user's other sessions. */
export async function replacePassword(
  tx: Tx,
  change: {
    readonly userId: string
    readonly sessionId: string
    readonly verifiedHash: string
    readonly newHash: string
    readonly now: Date
  },
): Promise<boolean> {
  const rows = await tx.sql<{ ok: boolean }[]>`
    select public.password_change(${change.userId}, ${change.sessionId}, ${change.verifiedHash}, ${change.newHash},
      ${change.now}) as ok`
  return only(rows).ok
}

function only<T>(rows: readonly T[]): T {
  const row = rows[0]
  if (row === undefined) throw new Error('a function of the database answered nothing')
  return row
}
