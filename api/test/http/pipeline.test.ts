import { connect } from 'node:net'
import { ServiceError } from '@service/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/log.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'
import { type Call, call, cookieOf, MSSP, startHttp } from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
const lines: string[] = []
const log = createLogger('debug', { write: (line: string) => void lines.push(line) })
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture, { log })
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

const send = (request: Call) => call(server.port, request)
const codeOf = async (request: Call): Promise<unknown> => {
  const { status, body } = await send(request)
  return status < 400 ? status : body.code
}
const TENANTS = '/api/mssp/tenants'
const json = { 'content-type': 'application/json' }
const admin = { cookie: cookieOf('mssp_admin'), origin: MSSP.origin }

describe('service tokens', () => {
  const config = '/api/internal/adapter/config'
  const bearer = (token: string) => ({ path: config, headers: { authorization: `Bearer ${token}` } })
  const newTenant = () =>
    createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant: tenantInput() })

  test('open exactly their own tenant', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    for (const { id, slug } of [one, two]) {
      const { token } = await fixture.tokens.mint('adapter', { tenantId: id, tokenVersion: 1 })
      expect((await send(bearer(token))).body).toMatchObject({ tenant_id: id, slug })
    }
    const { token } = await fixture.tokens.mint('adapter', { tenantId: one.id, tokenVersion: 1 })
    const body = JSON.stringify({ tenant_id: two.id, version: '1', health: 'ok' })
    const headers = { ...json, authorization: `Bearer ${token}` }
    const beat = { method: 'POST', path: '/api/internal/adapter/health', headers, body }
    expect(await codeOf(beat)).toBe('forbidden_target')
    const silent = await fixture.all`select from tenant_heartbeats where tenant_id in (${one.id}, ${two.id})`
    expect(silent).toHaveLength(0)
  })

  test('are read as a bearer’s, and need no origin', async () => {
    const { id } = await newTenant()
    const { token } = await fixture.tokens.mint('adapter', { tenantId: id, tokenVersion: 1 })
    for (const authorization of ['', 'Bearer', 'Bearer  ', `Basic ${token}`, token])
      expect(await codeOf({ path: config, headers: { authorization } })).toBe('invalid_token')
    expect(await codeOf({ path: config, headers: { cookie: admin.cookie } })).toBe('invalid_token')
    const answer = await send({ path: config })
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    const headers = {
      ...json,
      authorization: `Bearer ${token}`,
      origin: 'http://evil.example',
      cookie: 'a=b',
    }
    const body = JSON.stringify({ tenant_id: id, version: '1', health: 'ok' })
    expect(await codeOf({ method: 'POST', path: '/api/internal/adapter/health', headers, body })).toBe(200)
  })
})

describe('a claim', () => {
  const path = '/api/internal/worker/runs/claim'
  const claim = (token: string, body: unknown = { worker_id: 'worker-0' }) =>
    send({
      method: 'POST',
      path,
      headers: { ...json, authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
  const newToken = async (kind: 'adapter' | 'worker') => {
    const tenant = await createTenant(fixture.tenants, {
      principal: msspUser(),
      requestId: 'r',
      tenant: tenantInput(),
    })
    return {
      id: tenant.id,
      token: (await fixture.tokens.mint(kind, { tenantId: tenant.id, tokenVersion: 1 })).token,
    }
  }

  test('finds no run, and says so without a body', async () => {
    const { token } = await newToken('worker')
    const answer = await claim(token, { worker_id: 'worker-0', job_types: ['triage', 'chat'] })
    expect(answer).toMatchObject({ status: 204, body: {} })
    expect(answer.headers['content-length']).toBeUndefined()
    expect(answer.headers['x-request-id']).toBeDefined()
  })

  test('needs a worker token of a tenant that lives, before anything else is looked at', async () => {
    const adapter = await newToken('adapter')
    expect((await claim(adapter.token, { nonsense: 1 })).body).toMatchObject({ code: 'invalid_token' })
    const worker = await newToken('worker')
    await fixture.all`update tenants set deleted_at = now() where id = ${worker.id}`
    expect((await claim(worker.token)).body).toMatchObject({ code: 'invalid_token' })
    const renewed = await newToken('worker')
    await fixture.all`update tenants set token_version = 2 where id = ${renewed.id}`
    expect((await claim(renewed.token)).body).toMatchObject({ code: 'invalid_token' })
    const config = { path: '/api/internal/adapter/config' }
    const { token } = await newToken('worker')
    expect(await codeOf({ ...config, headers: { authorization: `Bearer ${token}` } })).toBe('invalid_token')
  })

  test.each([
    [{}, '/worker_id'],
    [{ worker_id: '' }, '/worker_id'],
    [{ worker_id: 'x'.repeat(129) }, '/worker_id'],
    [{ worker_id: 'w', job_types: [] }, '/job_types'],
    [{ worker_id: 'w', job_types: ['mining'] }, '/job_types/0'],
    [{ worker_id: 'w', job_types: null }, '/job_types'],
    [{ worker_id: 'w', tenant_id: 'x' }, '/tenant_id'],
  ])('of the form %j is refused at %s', async (body, pointer) => {
    const { token } = await newToken('worker')
    expect(await claim(token, body)).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ pointer }] },
    })
  })

  test('of a suspended tenant is answered too: its worker stays', async () => {
    const { id, token } = await newToken('worker')
    await fixture.all`update tenants set state = 'suspended', suspended_from = 'active' where id = ${id}`
    expect((await claim(token)).status).toBe(204)
  })
})

describe('every answer', () => {
  test.each([
    ['a success', { path: TENANTS, headers: admin }],
    ['a refusal', { path: TENANTS }],
    ['an unknown path', { path: '/' }],
    ['a wrong method', { method: 'DELETE', path: TENANTS }],
  ])('%s carries the security headers and a request id', async (_, request: Call) => {
    const { headers } = await send(request)
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'; frame-ancestors 'none'"),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
      'strict-transport-security': expect.stringContaining('max-age='),
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })
  test('keeps a usable request id and replaces another', async () => {
    const given = async (id: string) =>
      (await send({ path: '/', headers: { 'x-request-id': id } })).headers['x-request-id']
    expect(await given('abc-1.2_X')).toBe('abc-1.2_X')
    for (const bad of ['x'.repeat(65), 'a b', 'a"b', '<x>']) expect(await given(bad)).not.toBe(bad)
  })
  test('HEAD is GET without a body', async () => {
    expect(await codeOf({ method: 'HEAD', path: TENANTS, headers: admin })).toBe(200)
  })
})

describe('failures of ours', () => {
  test('tell the caller nothing, and the log everything but secrets', async () => {
    const broken = await startHttp(fixture, {
      log,
      resolveSession: async () => {
        throw new Error('relation "secret_table" does not exist')
      },
    })
    lines.length = 0
    const { status, body } = await call(broken.port, {
      path: `${TENANTS}?q=hidden-query`,
      headers: { cookie: cookieOf('analyst'), 'x-request-id': 'trace-me' },
    })
    await broken.stop()
    expect(status).toBe(500)
    expect(body).toMatchObject({ code: 'internal_error', request_id: 'trace-me' })
    expect(JSON.stringify(body)).not.toContain('secret_table')
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(entries).toMatchObject([
      {
        level: 'error',
        request_id: 'trace-me',
        route: TENANTS,
        status: 500,
        err: { message: expect.stringContaining('secret_table') },
      },
    ])
    expect(lines.join('')).not.toContain('hidden-query')
  })
  test('of the database are a temporary 503 with a time to come back', async () => {
    const away = await startHttp(fixture, {
      resolveSession: async () => Promise.reject(new Error('connection lost')),
      explain: () => new ServiceError('unavailable'),
    })
    const { status, headers } = await call(away.port, {
      path: TENANTS,
      headers: { cookie: cookieOf('analyst') },
    })
    await away.stop()
    expect(status).toBe(503)
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  })
})

test.each([
  ['no HTTP', 'nonsense\r\n\r\n'],
  ['no host', 'GET /health/live HTTP/1.1\r\n\r\n'],
  ['an endless header', `GET / HTTP/1.1\r\nhost: localhost:8080\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'],
  [
    'length and chunks',
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
])('%s on the wire is a 400 and does no harm', async (_, bytes) => {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => void socket.write(bytes))
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.setTimeout(5_000, () => socket.destroy())
  })
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
  expect(await codeOf({ path: '/health/live' })).toBe(200)
})

test('one log line a request, with the template of the route and never the path', async () => {
  lines.length = 0
  await send({ path: `${TENANTS}/0197a000-0000-7000-8000-000000000009?x=1`, headers: admin })
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(entries).toMatchObject([
    {
      level: 'info',
      msg: 'request',
      route: '/api/mssp/tenants/{id}',
      status: 404,
      code: 'not_found',
    },
  ])
  expect(lines.join('')).not.toContain('000000000009')
  expect(lines.join('')).not.toContain(admin.cookie)
})
