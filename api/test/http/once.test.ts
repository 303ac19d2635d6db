import { randomUUID } from 'node:crypto'
import { IDEMPOTENCY } from '@service/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silent } from '../../src/log.ts'
import { once, type OnceAnswer, withoutSecrets } from '../../src/verbs/once.ts'
import { rowCounts } from '../support/database.ts'
import { type Fixture, freshSlug, startFixture } from '../support/fixture.ts'
import { call, cookieOf, MSSP, signedInSides, startHttp } from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
let staffId: string
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture)
  ;({ staffId } = await signedInSides(fixture))
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

const post = (path: string, key: string, body: unknown = {}) =>
  call(server.port, {
    method: 'POST',
    path,
    body: JSON.stringify(body),
    headers: {
      origin: MSSP.origin,
      cookie: cookieOf('platform_admin'),
      'content-type': 'application/json',
      'idempotency-key': key,
    },
  })
const USERS = '/api/mssp/users'
const newUser = () => ({ email: `${randomUUID()}@example.com`, role: 'analyst' })

describe('the same key again', () => {
  test('answers the same resource, without the password, and makes nothing', async () => {
    const [key, user] = [randomUUID(), newUser()]
    const made = await post(USERS, key, user)
    expect(made.status).toBe(201)
    expect(made.body.temporary_password).toHaveLength(24)
    const before = await rowCounts(fixture.all)
    const again = await post(USERS, key, { role: user.role, email: user.email })
    expect(again).toMatchObject({ status: 201, body: { ...made.body, temporary_password: null } })
    expect(again.headers.location).toBe(made.headers.location)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(await rowCounts(fixture.all)).toEqual(before)
    const [row] = await fixture.all<{ id: string }[]>`select id from users where email = ${user.email}`
    expect(row?.id).toBe(made.body.id)
  })

  test('of a tenant answers the contact without its password', async () => {
    const slug = freshSlug()
    const tenant = { slug, display_name: 'Once', contact_email: `${slug}@example.com` }
    const key = randomUUID()
    const made = await post('/api/mssp/tenants/onboard', key, tenant)
    expect(made.status).toBe(202)
    const again = await post('/api/mssp/tenants/onboard', key, tenant)
    const contact = { ...(made.body.contact as object), temporary_password: null }
    expect(again).toMatchObject({ status: 202, body: { id: made.body.id, contact } })
  })

  test('with another body is refused; at another path it is another key', async () => {
    const key = randomUUID()
    expect((await post(USERS, key, newUser())).status).toBe(201)
    expect((await post(USERS, key, newUser())).body).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    })
    expect((await post(`${USERS}/${staffId}:deactivate`, key)).body).toMatchObject({ active: false })
    expect((await post(`${USERS}/${staffId}:reactivate`, key)).body).toMatchObject({ active: true })
    // A replay, not a deed: the user stays active.
    expect((await post(`${USERS}/${staffId}:deactivate`, key)).body).toMatchObject({ active: false })
    const [row] = await fixture.all<{ active: boolean }[]>`select active from users where id = ${staffId}`
    expect(row?.active).toBe(true)
  })

  test('after a failure is another try', async () => {
    const [key, user] = [randomUUID(), newUser()]
    const first = await post(USERS, randomUUID(), user)
    expect((await post(USERS, key, user)).body.code).toBe('email_taken')
    await fixture.all`update users set email = ${newUser().email} where id = ${String(first.body.id)}`
    expect((await post(USERS, key, user)).status).toBe(201)
  })

  test.each(['', ' ', 'x'.repeat(129), 'a\u00e9'])('%j is no key', async (key) => {
    expect((await post(USERS, Buffer.from(key).toString('latin1'), newUser())).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/Idempotency-Key' }],
    })
  })
})

describe('a key in use', () => {
  const context = (offset = 0) => ({
    db: fixture.db,
    clock: () => new Date(Date.now() + offset),
    log: silent,
  })
  const request = () => ({ key: 'k', userId: randomUUID(), method: 'POST', path: '/x', body: { a: 1 } })
  const answer = async (): Promise<OnceAnswer> => ({ status: 201, body: {}, headers: {} })

  test('makes others wait: of many at once exactly one works', async () => {
    const same = request()
    let worked = 0
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () =>
        once(context(), same, async () => {
          worked += 1
          await new Promise((resolve) => setTimeout(resolve, 50))
          return answer()
        }).then(
          ({ replayed }) => (replayed ? 'replayed' : 'worked'),
          (error: { code: string }) => error.code,
        ),
      ),
    )
    expect(worked).toBe(1)
    expect(outcomes.filter((outcome) => outcome === 'worked')).toHaveLength(1)
    for (const outcome of outcomes) expect(['worked', 'replayed', 'request_in_progress']).toContain(outcome)
    expect((await once(context(), same, answer)).replayed).toBe(true)
    const another = await once(context(), { ...same, userId: randomUUID() }, answer)
    expect(another.replayed).toBe(false)
  })

  test('of a process that died is free again after a while, and every key after a day', async () => {
    const same = request()
    await new Promise<void>((begun) => {
      void once(context(), same, () => {
        begun()
        return new Promise(() => undefined)
      })
    })
    await expect(once(context(), same, answer)).rejects.toMatchObject({ code: 'request_in_progress' })
    const later = context(IDEMPOTENCY.abandonedMs + 1_000)
    expect((await once(later, same, answer)).replayed).toBe(false)
    expect((await once(later, same, answer)).replayed).toBe(true)
    const nextDay = context(IDEMPOTENCY.abandonedMs + IDEMPOTENCY.keptMs + 2_000)
    expect((await once(nextDay, same, answer)).replayed).toBe(false)
  })
})

test('one-time secrets are cut out wherever they stand', () => {
  const value = { id: 1, contact: { temporary_password: 'x' }, list: [{ token: 'y', kept: null }] }
  const cut = { id: 1, contact: { temporary_password: null }, list: [{ token: null, kept: null }] }
  expect(withoutSecrets(value)).toEqual(cut)
})
