import { ServiceError } from '@service/domain'
import { decodeProtectedHeader, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { createServiceTokens } from './tokens.ts'
import { createTokenVerifier, type TokenState } from './verifier.ts'

const key = (fill: number) => new Uint8Array(32).fill(fill)
const TENANT = '0197a000-0000-7000-8000-000000000001'
const subject = { tenantId: TENANT, tokenVersion: 3 }
const DAY = 86_400_000

function fixture(start = new Date('2026-01-01T00:00:00Z')) {
  let now = start
  const clock = () => now
  const tokens = createServiceTokens({ adapter: [key(1)], worker: [key(2)] }, clock)
  return { tokens, clock, pass: (ms: number) => void (now = new Date(now.getTime() + ms)) }
}
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )

test('a token names kind, key, tenant and version, and lives eight days', async () => {
  const { tokens, pass } = fixture()
  const { token, expiresAt } = await tokens.mint('adapter', subject)
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'HS256', typ: 'adapter+jwt' })
  expect(expiresAt).toEqual(new Date('2026-01-09T00:00:00Z'))
  expect(await tokens.verify('adapter', token)).toEqual(subject)
  pass(8 * DAY)
  expect(await codeOf(tokens.verify('adapter', token))).toBe('invalid_token')
})

test('kinds do not stand for each other, not even under one key', async () => {
  const tokens = createServiceTokens({ adapter: [key(1)], worker: [key(1)] }, () => new Date())
  const { token } = await tokens.mint('worker', subject)
  expect(await codeOf(tokens.verify('adapter', token))).toBe('invalid_token')
  expect(await codeOf(tokens.verify('worker', token))).toBe('accepted')
})

test('the previous key is accepted, a third one is not', async () => {
  const clock = () => new Date()
  const { token } = await createServiceTokens({ adapter: [key(1)], worker: [key(9)] }, clock).mint(
    'adapter',
    subject,
  )
  const rotated = createServiceTokens({ adapter: [key(2), key(1)], worker: [key(9)] }, clock)
  const forgotten = createServiceTokens({ adapter: [key(3), key(2)], worker: [key(9)] }, clock)
  expect(await codeOf(rotated.verify('adapter', token))).toBe('accepted')
  expect(await codeOf(forgotten.verify('adapter', token))).toBe('invalid_token')
})

test.each([
  ['no expiry', {}, { exp: undefined }],
  ['another audience', { aud: 'service:worker' }, {}],
  ['another issuer', { iss: 'somebody' }, {}],
  ['no tenant', { tenant_id: undefined }, {}],
  ['a tenant that is no id', { tenant_id: "x' or 1=1" }, {}],
  ['another scope', { scope: 'worker' }, {}],
  ['no version', { token_version: undefined }, {}],
])('a well-signed token with %s is refused', async (_, claims, special) => {
  const { tokens } = fixture(new Date())
  const { kid } = decodeProtectedHeader((await tokens.mint('adapter', subject)).token)
  const payload = {
    iss: 'service',
    aud: 'service:adapter',
    sub: 'adapter',
    user_type: 'adapter',
    scope: 'adapter',
    tenant_id: TENANT,
    token_version: 3,
    iat: Math.floor(Date.now() / 1000),
    ...('exp' in special ? {} : { exp: Math.floor(Date.now() / 1000) + 60 }),
    ...claims,
  }
  const header = { alg: 'HS256', typ: 'adapter+jwt', kid: kid ?? '' }
  const token = await new SignJWT(payload).setProtectedHeader(header).sign(key(1))
  expect(await codeOf(tokens.verify('adapter', token))).toBe('invalid_token')
})

test.each(['', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.'])('garbage %s is refused', async (token) => {
  expect(await codeOf(fixture().tokens.verify('adapter', token))).toBe('invalid_token')
})

test('short keys are refused', () => {
  expect(() =>
    createServiceTokens({ adapter: [new Uint8Array(31)], worker: [key(1)] }, () => new Date()),
  ).toThrow('32 bytes')
})

test('the version of the row decides, is looked up once in five seconds, and never for a bad signature', async () => {
  const { tokens, clock, pass } = fixture()
  let state: TokenState = { tokenVersion: 3 }
  let loads = 0
  const load = async () => {
    loads += 1
    return state
  }
  const verify = createTokenVerifier({ tokens, load, clock })
  const { token } = await tokens.mint('adapter', subject)

  expect(await codeOf(verify('adapter', `${token}x`))).toBe('invalid_token')
  expect(loads).toBe(0)
  await Promise.all([verify('adapter', token), verify('adapter', token), verify('adapter', token)])
  expect(loads).toBe(1)
  state = { tokenVersion: 4 }
  pass(5_000)
  expect(await codeOf(verify('adapter', token))).toBe('invalid_token')
  state = null
  pass(5_000)
  expect(await codeOf(verify('adapter', token))).toBe('invalid_token')
})

test('a failed look-up is not remembered', async () => {
  const { tokens, clock } = fixture()
  let fail = true
  const load = async () => {
    if (fail) throw new Error('no database')
    return { tokenVersion: 3 }
  }
  const verify = createTokenVerifier({ tokens, load, clock })
  const { token } = await tokens.mint('adapter', subject)
  await expect(verify('adapter', token)).rejects.toThrow('no database')
  fail = false
  expect(await codeOf(verify('adapter', token))).toBe('accepted')
})
