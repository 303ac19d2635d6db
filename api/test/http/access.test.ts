import { audienceOfRole, capabilitiesOf, ROLES } from '@service/domain'
import { ROUTES, type Route } from '@service/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'
import { type Call, call, cookieOf, CUSTOMER, MSSP, startHttp } from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture)
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

describe('audience and capability', () => {
  const guarded = (Object.entries(ROUTES) as [string, Route][]).filter(([, route]) =>
    ['mssp', 'tenant', 'session'].includes(route.access.kind),
  )
  const id = '0197a000-0000-7000-8000-000000000009'

  test.each(guarded)('%s: exactly the roles of the map pass', async (_, route) => {
    for (const role of ROLES) {
      const place = audienceOfRole(role) === 'mssp' ? MSSP : CUSTOMER
      const code = await codeOf({
        method: route.method,
        path: route.path.replace('{id}', id),
        headers: { host: place.host, origin: place.origin, cookie: cookieOf(role) },
      })
      const { access } = route
      const rightSide = access.kind === 'session' || access.kind === audienceOfRole(role)
      const capability = 'capability' in access ? access.capability : null
      const may = capability === null || capabilitiesOf(role).some((held) => held === capability)
      if (!rightSide) expect(code, role).toBe('wrong_audience')
      else if (!may) expect(code, role).toBe('capability_missing')
      else expect(['wrong_audience', 'capability_missing'], role).not.toContain(code)
    }
  })

  test('while the password must be changed, only what is needed for that answers', async () => {
    for (const [, route] of guarded) {
      const place = route.access.kind === 'tenant' ? CUSTOMER : MSSP
      const role = route.access.kind === 'tenant' ? 'tenant_admin' : 'platform_admin'
      const code = await codeOf({
        method: route.method,
        path: route.path.replace('{id}', id),
        headers: { host: place.host, origin: place.origin, cookie: cookieOf(role, 'must-change') },
      })
      expect(code === 'password_change_required', route.path).toBe(route.whileMustChange !== true)
    }
  })
})

describe('cross-site requests', () => {
  const login = { method: 'POST', path: '/api/auth/login' }
  test.each([
    ['no origin and no referer', {}, true],
    ['another origin', { origin: 'http://evil.example' }, true],
    ['the origin null', { origin: 'null', referer: `${MSSP.origin}/login` }, true],
    ['a customer’s origin at the MSSP host', { origin: CUSTOMER.origin }, true],
    ['the MSSP origin at a customer’s host', { host: CUSTOMER.host, origin: MSSP.origin }, true],
    ['another allowed origin at this host', { origin: 'https://console.example.com' }, true],
    ['two origins', { origin: [MSSP.origin, 'http://evil.example'] }, true],
    ['the own origin', { origin: MSSP.origin }, false],
    ['the own origin as referer', { referer: `${MSSP.origin}/login?x=1` }, false],
    ['a foreign referer', { referer: 'http://evil.example/http://localhost:8080/' }, true],
    ['the customer’s own origin', { host: CUSTOMER.host, origin: CUSTOMER.origin }, false],
  ])('%s', async (_, headers, refused) => {
    for (const path of ['/api/auth/login', '/api/auth/logout'])
      expect((await codeOf({ ...login, path, headers })) === 'csrf_failed').toBe(refused)
  })
  test('reading needs no origin', async () => {
    expect(
      await codeOf({ path: TENANTS, headers: { cookie: admin.cookie, origin: 'http://evil.example' } }),
    ).toBe(200)
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
  test('two session cookies count as none', async () => {
    const cookie = `${cookieOf('mssp_admin')}; ${cookieOf('mssp_admin')}`
    expect(await codeOf({ path: TENANTS, headers: { cookie } })).toBe('unauthenticated')
    const twice = [cookieOf('mssp_admin'), cookieOf('mssp_admin')]
    expect(await codeOf({ path: TENANTS, headers: { cookie: twice } })).toBe('unauthenticated')
  })
})
