import { SESSION } from '@service/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changePassword, login, logout, resolveSession } from '../../src/verbs/auth/index.ts'
import type { AuthContext } from '../../src/verbs/auth/index.ts'
import { attempt, codeOf, createBench, MSSP, PASSWORD, WRONG } from './support.ts'
import type { Bench } from './support.ts'

const NEW = 'an entirely new password'
let bench: Bench
beforeAll(async () => {
  bench = await createBench('session')
})
afterAll(() => bench.close())

const MINUTE = 60_000
const resolve = (ctx: AuthContext, cookie: string) => resolveSession(ctx, { cookie, host: MSSP })
const signIn = async (ctx: AuthContext, email: string, password = PASSWORD) => {
  const { cookie } = await login(ctx, attempt(email, password))
  const signedIn = await resolve(ctx, cookie)
  if (signedIn === null) throw new Error('not signed in')
  return { cookie, ...signedIn }
}
const row = async (id: string) => {
  const [found] = await bench.superuser<{ last_seen_at: Date; idle_expiry: Date; revoked_at: Date | null }[]>`
    select last_seen_at, idle_expiry, revoked_at from sessions where id = ${id}`
  if (found === undefined) throw new Error('no session')
  return found
}

describe('a session', () => {
  test('slides with activity, written at most once a minute', async () => {
    const ctx = bench.context()
    const { cookie, session } = await signIn(ctx, (await bench.user()).email)
    const first = await row(session.id)
    ctx.advance(59_000)
    await resolve(ctx, cookie)
    expect(await row(session.id)).toEqual(first)
    ctx.advance(2_000)
    await resolve(ctx, cookie)
    const moved = await row(session.id)
    expect(moved.last_seen_at.getTime()).toBeGreaterThan(first.last_seen_at.getTime() + 59_000)
    expect(moved.idle_expiry.getTime() - moved.last_seen_at.getTime()).toBe(SESSION.idleMs)
  })

  test('ends after 30 idle minutes, and lives 12 hours with activity, not longer', async () => {
    const idle = bench.context()
    const asleep = await signIn(idle, (await bench.user()).email)
    idle.advance(SESSION.idleMs - MINUTE)
    expect(await resolve(idle, asleep.cookie)).not.toBeNull()
    idle.advance(SESSION.idleMs + MINUTE)
    expect(await resolve(idle, asleep.cookie)).toBeNull()

    const busy = bench.context()
    const awake = await signIn(busy, (await bench.user()).email)
    for (let minutes = 0; minutes + 25 < 12 * 60; minutes += 25) {
      busy.advance(25 * MINUTE)
      expect(await resolve(busy, awake.cookie), `after ${minutes + 25} minutes`).not.toBeNull()
    }
    busy.advance(25 * MINUTE)
    expect(await resolve(busy, awake.cookie)).toBeNull()
    expect((await row(awake.session.id)).revoked_at).toBeNull()
  })

  test('is dead after logout, which says so once and never fails', async () => {
    const ctx = bench.context()
    const user = await bench.user()
    const { cookie } = await signIn(ctx, user.email)
    const other = await signIn(ctx, user.email)
    for (const each of [cookie, cookie, null, 'nonsense', 'AAAAAAAAAAAAAAAAAAAAAA'])
      await logout(ctx, { cookie: each, requestId: 'r-2' })
    expect(await resolve(ctx, cookie)).toBeNull()
    expect(await resolve(ctx, other.cookie)).not.toBeNull()
    const rows = await bench.superuser<{ n: number }[]>`
      select count(*) as n from audit_log where action = 'auth.logout' and actor_id = ${user.id} and request_id = 'r-2'`
    expect(rows[0]?.n).toBe(1)
  })

  test('is dead while its user is inactive', async () => {
    const ctx = bench.context()
    const user = await bench.user()
    const { cookie } = await signIn(ctx, user.email)
    await bench.superuser`update users set active = false where id = ${user.id}`
    expect(await resolve(ctx, cookie)).toBeNull()
  })

  test('is found by its exact cookie only', async () => {
    const ctx = bench.context()
    const { cookie } = await signIn(ctx, (await bench.user()).email)
    const last = cookie.at(-1) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // The last character carries two bits only: its neighbours would decode to the same bytes.
    const twin = `${cookie.slice(0, -1)}${alphabet[alphabet.indexOf(last) ^ 1]}`
    for (const wrong of [twin, `${cookie}==`, ` ${cookie}`, cookie.slice(1), '', "' or true --"])
      expect(await resolve(ctx, wrong), wrong).toBeNull()
  })
})

describe('a password change', () => {
  const change = (ctx: AuthContext, who: Awaited<ReturnType<typeof signIn>>, from: string, to: string) =>
    changePassword(ctx, { ...who, old_password: from, new_password: to, requestId: 'r-3' })
  const failure = async (work: Promise<void>) => {
    const error = (await work.catch((caught: unknown) => caught)) as {
      code: string
      extras: { errors?: { pointer: string }[] }
    }
    return `${error.code} ${error.extras.errors?.[0]?.pointer ?? ''}`.trim()
  }

  test('ends the other sessions, keeps this one, and lifts must_change', async () => {
    const ctx = bench.context()
    const user = await bench.user({ mustChange: true })
    const here = await signIn(ctx, user.email)
    const there = await signIn(ctx, user.email)
    expect(here.session.mustChange).toBe(true)
    await change(ctx, here, PASSWORD, NEW)
    expect(await resolve(ctx, there.cookie)).toBeNull()
    expect(await resolve(ctx, here.cookie)).toMatchObject({ session: { mustChange: false } })
    expect(await codeOf(login(ctx, attempt(user.email, PASSWORD)))).toBe('invalid_credentials')
    expect(await codeOf(login(ctx, attempt(user.email, NEW)))).toBe('ok')
    expect(await bench.actions(user.id)).toContain('auth.password.changed')
  })

  test('refuses the same password, and lengths outside 12 to 1024 code points', async () => {
    const ctx = bench.context()
    const who = await signIn(ctx, (await bench.user()).email)
    for (const bad of [PASSWORD, 'elevenchars', '🔑'.repeat(11), 'x'.repeat(1025)])
      expect(await failure(change(ctx, who, PASSWORD, bad))).toBe('validation_failed /new_password')
    await change(ctx, who, PASSWORD, '🔑'.repeat(12))
  })

  test('a wrong old password counts: 422 ten times, then 423, and logins are locked, too', async () => {
    const ctx = bench.context()
    const user = await bench.user()
    const who = await signIn(ctx, user.email)
    for (let round = 0; round < 10; round += 1)
      expect(await failure(change(ctx, who, WRONG, NEW))).toBe('validation_failed /old_password')
    expect(await failure(change(ctx, who, PASSWORD, NEW))).toBe('account_locked')
    expect(await codeOf(login(bench.context(), attempt(user.email, PASSWORD)))).toBe('account_locked')
    const actions = await bench.actions(user.id)
    expect(actions.filter((action) => action === 'auth.lockout.triggered')).toHaveLength(1)
    expect(await resolve(ctx, who.cookie)).not.toBeNull()
  })

  test('two at the same time: one wins', async () => {
    const ctx = bench.context()
    const user = await bench.user()
    const [one, two] = [await signIn(ctx, user.email), await signIn(ctx, user.email)]
    const codes = await Promise.all([
      codeOf(change(ctx, one, PASSWORD, `${NEW} 1`)),
      codeOf(change(ctx, two, PASSWORD, `${NEW} 2`)),
    ])
    expect(codes.toSorted()).toEqual(['ok', 'validation_failed'])
    const winner = codes[0] === 'ok' ? `${NEW} 1` : `${NEW} 2`
    expect(await codeOf(login(ctx, attempt(user.email, winner)))).toBe('ok')
  })
})
