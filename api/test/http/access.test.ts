import { audienceOfRole, capabilitiesOf, type Role, ROLES } from '@service/domain'
import { ROUTES, type Route } from '@service/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'
import { BODIES, type Bodies, bodyOf, targetsOf, type Things } from '../support/matrix.ts'
import {
  type Call,
  call,
  callText,
  cookieOf,
  CUSTOMER,
  MSSP,
  signedInSides,
  startHttp,
} from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
let things: Things
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture)
  const made = await createTenant(fixture.tenants, {
    principal: msspUser(),
    requestId: 'r',
    tenant: tenantInput({ contact_email: 'stranger@example.com' }),
  })
  const strangerId = made.contact?.user_id ?? ''
  things = { ...(await signedInSides(fixture)), tenantId: made.id, strangerId }
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

const codeOf = async (request: Call): Promise<unknown> => {
  const { status, body } = await call(server.port, request)
  return status < 400 ? status : body.code
}
const TENANTS = '/api/mssp/tenants'
const json = { 'content-type': 'application/json' }
const admin = { cookie: cookieOf('mssp_admin'), origin: MSSP.origin }

describe('the order of checks', () => {
  // Each request breaks everything from one check on; the earliest check has to answer.
  const nothing = { method: 'POST', body: 'x'.repeat(70_000), headers: { origin: 'http://evil.example' } }
  test.each<[string, Call]>([
    ['not_found', { ...nothing, path: '/api/mssp/nothing' }],
    ['method_not_allowed', { ...nothing, method: 'PUT', path: TENANTS }],
    ['csrf_failed', { ...nothing, path: TENANTS }],
    ['unauthenticated', { ...nothing, path: TENANTS, headers: { origin: MSSP.origin } }],
    [
      'wrong_audience',
      {
        ...nothing,
        path: TENANTS,
        headers: {
          host: CUSTOMER.host,
          origin: CUSTOMER.origin,
          cookie: cookieOf('customer_viewer', 'must-change'),
        },
      },
    ],
    [
      'password_change_required',
      {
        ...nothing,
        path: TENANTS,
        headers: { origin: MSSP.origin, cookie: cookieOf('analyst', 'must-change') },
      },
    ],
    [
      'capability_missing',
      { ...nothing, path: TENANTS, headers: { origin: MSSP.origin, cookie: cookieOf('analyst') } },
    ],
    ['body_too_large', { ...nothing, path: `${TENANTS}?a=1`, headers: admin }],
    ['unsupported_media_type', { ...nothing, body: '{', path: `${TENANTS}?a=1`, headers: admin }],
    ['malformed_request', { ...nothing, body: '{', path: `${TENANTS}?a=1`, headers: { ...admin, ...json } }],
    ['validation_failed', { ...nothing, body: '{}', path: TENANTS, headers: { ...admin, ...json } }],
  ])('%s comes first', async (code, request) => expect(await codeOf(request)).toBe(code))

  test('a conflict comes last', async () => {
    const tenant = tenantInput()
    await createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant })
    const body = (slug: string, extra = {}) => JSON.stringify({ slug, display_name: 'x', ...extra })
    const request = { method: 'POST', path: TENANTS, headers: { ...admin, ...json } }
    expect(await codeOf({ ...request, body: body(tenant.slug) })).toBe('slug_taken')
    expect(await codeOf({ ...request, body: body(tenant.slug, { profile: 'x' }) })).toBe('validation_failed')
  })
})

describe('what is public', () => {
  const open = (Object.entries(ROUTES) as [string, Route][]).filter(
    ([, { access, method }]) => access.kind === 'public' && method === 'GET',
  )
  test.each(open)('%s: the same for eight roles and nobody, at both hosts', async (_, { path }) => {
    const answers = await Promise.all(
      [...ROLES, null].flatMap((role) =>
        [MSSP, CUSTOMER].map(async ({ host }) => {
          const cookie = role === null ? {} : { cookie: cookieOf(role, 'must-change') }
          const { status, text } = await callText(server.port, { path, headers: { host, ...cookie } })
          return `${status} ${text}`
        }),
      ),
    )
    expect(answers[0]).toMatch(/^200 /)
    expect(new Set(answers).size).toBe(1)
  })
})

describe('audience and capability', () => {
  const guarded = (Object.entries(ROUTES) as [string, Route][]).filter(([, route]) =>
    ['mssp', 'tenant', 'session'].includes(route.access.kind),
  )
  const nobodys = '0197a000-0000-7000-8000-000000000009'
  const place = (side: string) => (side === 'tenant' ? CUSTOMER : MSSP)
  const seen = { operations: 0, cells: 0 }

  /** What decides before any resource is looked at; null when nothing is in the way. */
  const expected = ({ access }: Route, role: Role | null): string | null => {
    if (role === null) return 'unauthenticated'
    if (access.kind !== 'session' && access.kind !== audienceOfRole(role)) return 'wrong_audience'
    const capability = 'capability' in access ? access.capability : null
    const may = capability === null || capabilitiesOf(role).some((held) => held === capability)
    return may ? null : 'capability_missing'
  }
  const ask = (id: string, route: Route, role: Role | null, target: string) => {
    const { host, origin } = place(role === null ? route.access.kind : audienceOfRole(role))
    const cookie = role === null ? {} : { cookie: cookieOf(role) }
    const headers = { host, origin, ...json, ...cookie, 'x-request-id': 'same' }
    const path = route.path.replace('{id}', target)
    return call(server.port, { method: route.method, path, headers, ...bodyOf(id, route) })
  }
  const told = (body: Record<string, unknown>) => ({ ...body, instance: '' })

  test.each(guarded)('%s: eight roles and nobody, own, foreign and nonexistent', async (id, route) => {
    seen.operations += 1
    const { own, foreign } = targetsOf(route, things)
    for (const role of [...ROLES, null]) {
      const early = expected(route, role)
      const nothing = await ask(id, route, role, nobodys)
      for (const target of [own, ...foreign]) {
        seen.cells += 1
        const { status, body } = await ask(id, route, role, target)
        const what = `${role ?? 'nobody'} ${target === own ? 'own' : 'foreign'}: ${status}`
        if (early !== null) expect(body.code, what).toBe(early)
        else if (target !== own) expect(body.code, what).toBe('not_found')
        // What the row's own rules refuse has come past every guard and schema.
        else if (status >= 400) expect(route.problems, what).toContain(body.code)
        else expect(status, what).toBe(route.status)
        if (target !== own) expect(told(body), what).toEqual(told(nothing.body))
      }
    }
  })
  afterAll(() => console.log(`S3: ${JSON.stringify(seen)}`))

  test('has no row that the matrix has no data for', () => {
    type Grown = typeof ROUTES & { 'x.new': (typeof ROUTES)['mssp.users.create'] }
    // @ts-expect-error -- a new row with a body needs one here
    const bodies: Bodies<Grown> = BODIES
    for (const [id, route] of guarded) expect(() => bodyOf(id, route)).not.toThrow()
    const [, row] = guarded.find(([id]) => id === 'mssp.users.create') ?? []
    expect(() => bodyOf('x.new', row as Route)).toThrow(/no body for x\.new/)
    expect(Object.keys(bodies)).not.toContain('x.new')
  })
})

describe('hosts', () => {
  test('one that is not configured has health and the internal routes only', async () => {
    const host = 'somewhere.example'
    expect(await codeOf({ path: '/health/live', headers: { host } })).toBe(200)
    expect(await codeOf({ path: '/api/health/ready', headers: { host } })).toBe(200)
    expect(await codeOf({ path: '/api/internal/adapter/config', headers: { host } })).toBe('invalid_token')
    expect(await codeOf({ path: TENANTS, headers: { host, cookie: admin.cookie } })).toBe('not_found')
    const login = { method: 'POST', path: '/api/auth/login', headers: { host, origin: `http://${host}` } }
    expect(await codeOf(login)).toBe('not_found')
  })
  test('a session of one side is nobody at the other side’s host', async () => {
    const headers = { host: CUSTOMER.host, cookie: cookieOf('platform_admin') }
    expect(await codeOf({ path: '/api/auth/me', headers })).toBe('unauthenticated')
  })
})
