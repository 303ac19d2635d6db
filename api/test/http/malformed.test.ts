import { ERRORS, type ErrorCode } from '@service/domain'
import { Problem, ROUTES, type Route } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { rowCounts } from '../support/database.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'
import {
  type Answer,
  type Call,
  call,
  cookieOf,
  CUSTOMER,
  MSSP,
  signedInSides,
  startHttp,
} from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
let tokens: Readonly<Record<'adapter' | 'worker', string>>
let tenantId: string
let staffId: string
let customerId: string
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture)
  const tenant = tenantInput()
  const made = await createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant })
  tenantId = made.id
  ;({ staffId, customerId } = await signedInSides(fixture))
  const mint = async (kind: 'adapter' | 'worker') =>
    (await fixture.tokens.mint(kind, { tenantId, tokenVersion: 1 })).token
  tokens = { adapter: await mint('adapter'), worker: await mint('worker') }
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

const routes = Object.entries(ROUTES) as [string, Route][]
const bodied = routes.filter(([, route]) => route.body !== undefined)

/** A body that each route takes; the cases below break it in one place at a time. */
const VALID: Readonly<Record<string, () => Record<string, unknown>>> = {
  'auth.login': () => ({ email: 'a@example.com', password: 'long enough it is' }),
  'auth.assume-tenant': () => ({ slug: null, tenant_id: null }),
  'auth.password.change': () => ({ old_password: 'long enough it was', new_password: 'long enough it is' }),
  'mssp.tenants.create': () => ({ slug: 'never-made', display_name: 'Never made' }),
  'mssp.tenants.onboard': () => ({ slug: 'never-made', display_name: 'Never made' }),
  'mssp.users.create': () => ({ email: 'new.staff@example.com', role: 'analyst' }),
  'mssp.users.update': () => ({ display_name: 'Another name' }),
  'tenant.users.create': () => ({ email: 'new.customer@example.com', role: 'customer_viewer' }),
  'tenant.users.update': () => ({ display_name: 'Another name' }),
  'adapter.health': () => ({ tenant_id: tenantId, version: '1', health: 'ok' }),
  'adapter.events': () => ({ events: [{ source_event_id: 'e', severity: 1 }] }),
  'adapter.checkpoint.put': () => ({ cursor_ts: null, cursor_event_id: null }),
  'worker.runs.claim': () => ({ worker_id: 'worker-0' }),
}

/** Routes whose every member may be missing. */
const ALL_OPTIONAL = new Set(['auth.assume-tenant'])

/** Headers of somebody who may call the route. */
function callerOf(route: Route): Record<string, string> {
  const { kind } = route.access
  if (kind === 'adapter' || kind === 'worker') return { authorization: `Bearer ${tokens[kind]}` }
  const place = route.access.kind === 'tenant' ? CUSTOMER : MSSP
  const role = route.access.kind === 'tenant' ? 'tenant_admin' : 'platform_admin'
  return { host: place.host, origin: place.origin, cookie: cookieOf(role) }
}
const pathOf = ({ path }: Route): string => {
  const users = path.startsWith('/api/tenant/') ? customerId : staffId
  return path.replace('{id}', path.includes('/users/') ? users : tenantId)
}

const send = (route: Route, change: Partial<Call>): Promise<Answer> =>
  call(server.port, {
    method: route.method,
    path: pathOf(route),
    ...change,
    headers: { 'content-type': 'application/json', ...callerOf(route), ...change.headers },
  })

/** 4xx, a problem of the closed list that says nothing of the value, and not one row more or less. */
async function refused(answer: Promise<Answer>, ...codes: readonly ErrorCode[]): Promise<Answer> {
  const before = await rowCounts(fixture.all)
  const { status, headers, body } = await answer
  expect(headers['content-type']).toBe('application/problem+json')
  const problem = v.parse(Problem, body)
  expect(codes).toContain(problem.code)
  expect(status).toBe(ERRORS[problem.code].status)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(problem.request_id).toBe(headers['x-request-id'])
  expect(await rowCounts(fixture.all)).toEqual(before)
  return { status, headers, body }
}

test('there is a valid body for every route that takes one, and it passes', async () => {
  expect(Object.keys(VALID).toSorted()).toEqual(bodied.map(([id]) => id).toSorted())
  for (const [id, route] of bodied) {
    if (id.startsWith('mssp.tenants')) continue
    const { status } = await send(route, { body: JSON.stringify(VALID[id]?.()) })
    expect(status, id).toBe(route.status)
  }
})

describe.each(bodied)('%s', (id, route) => {
  const valid = () => VALID[id]?.() ?? {}
  const limit = route.bodyLimit ?? 64 * 1024
  const json = (value: unknown) => ({ body: JSON.stringify(value) })

  test.each([
    ['no body', { body: '' }],
    ['not JSON', { body: '{"a":' }],
    ['two values', { body: '{} {}' }],
    ['a single quote', { body: "{'a':1}" }],
    ['bytes that are not UTF-8', { body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }],
    ['nesting of 1001', { body: `${'['.repeat(1001)}${']'.repeat(1001)}` }],
    ['nesting of 50000', { body: '['.repeat(50_000) }],
  ])('%s is malformed', async (_, change) => {
    await refused(send(route, change), 'malformed_request')
  })

  test.each([
    ['null', 'null'],
    ['a number', '1'],
    ['a text', '"x"'],
    ['a list', '[]'],
    ['a list of objects', '[{}]'],
    ['true', 'true'],
  ])('%s is no valid body', async (_, body) => {
    await refused(send(route, { body }), 'validation_failed')
  })

  test('an empty object is no valid body', async () => {
    if (!ALL_OPTIONAL.has(id)) await refused(send(route, { body: '{}' }), 'validation_failed')
  })

  test.each([
    ['form data', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=iso-8859-1' }],
    ['compression', { 'content-encoding': 'gzip' }],
    ['something like JSON', { 'content-type': 'application/jsonx' }],
  ])('%s is not supported', async (_, headers) => {
    await refused(send(route, { ...json(valid()), headers }), 'unsupported_media_type')
  })

  test('a body over the limit is refused, whether it says its length or not', async () => {
    const body = JSON.stringify({ ...valid(), padding: 'x'.repeat(limit) })
    await refused(send(route, { body }), 'body_too_large')
    await refused(send(route, { body, chunked: true }), 'body_too_large')
  })

  test.each(['unknown', '__proto__', 'constructor', 'toString', ''])(
    'the unknown key %j is named',
    async (key) => {
      const body = `{${JSON.stringify(key)}:{"a":1},${JSON.stringify(valid()).slice(1)}`
      const answer = await refused(send(route, { body }), 'validation_failed')
      expect(answer.body.errors).toMatchObject([{ pointer: `/${key}`, code: 'unknown_key' }])
    },
  )

  test('the same of every member: missing, null, of each wrong type, too long, not storable', async () => {
    for (const [key, value] of Object.entries(valid())) {
      const rest: Record<string, unknown> = { ...valid() }
      delete rest[key]
      const wrong: unknown[] = [{}, [], true, 1e300, 'x'.repeat(5000), 'a\u0000b', '\uD800']
      const acceptable = value === null ? [] : [null]
      for (const bad of [...acceptable, ...wrong]) {
        const marked = { ...rest, [key]: bad }
        const answer = await refused(send(route, json(marked)), 'validation_failed')
        expect(JSON.stringify(answer.body)).not.toContain('x'.repeat(5000))
        for (const { pointer } of answer.body.errors as { pointer: string }[])
          expect(pointer.startsWith(`/${key}`)).toBe(true)
      }
      if (!ALL_OPTIONAL.has(id)) await refused(send(route, json(rest)), 'validation_failed')
    }
  })

  test('a query is refused', async () => {
    await refused(send(route, { ...json(valid()), path: `${pathOf(route)}?a=1` }), 'validation_failed')
  })
})

describe.each(routes)('%s', (_id, route) => {
  test('takes no other method', async () => {
    const others = ['PATCH', 'DELETE', 'PUT', 'OPTIONS', 'TRACE'].filter((method) =>
      routes.every(([, other]) => other.path !== route.path || other.method !== method),
    )
    for (const method of others) {
      const answer = await refused(send(route, { method }), 'method_not_allowed')
      expect(answer.headers.allow).toContain(route.method)
    }
  })
  test('takes no unknown query key', async () => {
    if (route.method !== 'GET') return
    const answer = await refused(send(route, { path: `${pathOf(route)}?surprise=1` }), 'validation_failed')
    expect(answer.body.errors).toMatchObject([{ pointer: '/surprise', code: 'unknown_key' }])
  })
})

test.each([
  '?limit=0',
  '?limit=201',
  '?limit=1.5',
  '?limit=',
  '?limit=1&limit=2',
  '?cursor=x',
  '?cursor=',
  '?total=yes',
  '?state=gone',
  '?state=active&state=gone',
  '?q=',
  '?q=%00',
  '?deleted=1',
])('the tenant list refuses %s', async (query) => {
  await refused(send(ROUTES['mssp.tenants.list'], { path: `/api/mssp/tenants${query}` }), 'validation_failed')
})
test.each(['?since=yesterday', '?since=0000-01-01', '?until=2026-02-30T00:00:00Z', '?kind=x', '?limit=999'])(
  'the lifecycle refuses %s',
  async (query) => {
    const path = `/api/mssp/tenants/${tenantId}/lifecycle${query}`
    await refused(send(ROUTES['mssp.tenants.lifecycle'], { path }), 'validation_failed')
  },
)
test.each(['x', '0197A000-0000-7000-8000-000000000001', '%00', '%E0%A4%A', "'--", '..%2f..', '1'])(
  'the id %s is an id of nothing',
  async (id) => {
    await refused(send(ROUTES['mssp.tenants.get'], { path: `/api/mssp/tenants/${id}` }), 'not_found')
    const retry = { path: `/api/mssp/tenants/${id}:retry`, body: '{' }
    await refused(send(ROUTES['mssp.tenants.retry'], retry), 'not_found')
  },
)
describe('an id of nothing, well-formed', () => {
  const nothing = '0197a000-0000-7000-8000-00000000dead'
  const addressed = routes.filter(([, route]) => route.resource !== undefined)
  test.each(addressed)('%s: is that before anything is said of the rest', async (_id, route) => {
    const path = route.path.replace('{id}', nothing)
    const bad = [
      { path },
      { path: `${path}?surprise=1` },
      ...(route.method === 'GET'
        ? []
        : [
            { path, body: '{' },
            { path, body: '{"surprise":1}' },
            { path, body: 'x'.repeat(70_000) },
            { path, body: '{}', headers: { 'content-type': 'text/plain' } },
          ]),
    ]
    for (const change of bad) await refused(send(route, change), 'not_found')
  })
  test('of the other side is none, either', async () => {
    const staff = ROUTES['mssp.users.update']
    await refused(send(staff, { path: `/api/mssp/users/${customerId}`, body: '{' }), 'not_found')
    const customer = ROUTES['tenant.users.update']
    await refused(send(customer, { path: `/api/tenant/users/${staffId}`, body: '{' }), 'not_found')
  })
})
test('findings of query and body come together', async () => {
  const route = ROUTES['mssp.tenants.create']
  const answer = await refused(
    send(route, { path: `${route.path}?a=1`, body: JSON.stringify({ slug: 'UPPER' }) }),
    'validation_failed',
  )
  const pointers = (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer)
  expect(pointers).toEqual(['/a', '/slug', '/display_name'])
})
test('routes without a body take none, or an empty object', async () => {
  const route = ROUTES['auth.logout']
  for (const body of ['', '{}']) {
    expect((await send(route, { body })).status).toBe(200)
    await refused(send(ROUTES['mssp.tenants.retry'], { body }), 'state_conflict')
  }
  await refused(send(ROUTES['mssp.tenants.retry'], { body: '{"force":true}' }), 'validation_failed')
  await refused(send(route, { body: '{"a":1}' }), 'validation_failed')
  await refused(send(route, { body: '[]' }), 'validation_failed')
  await refused(send(route, { body: 'x' }), 'malformed_request')
})
