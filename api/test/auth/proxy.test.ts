import { randomUUID } from 'node:crypto'
import { permissionsOf } from '@service/domain'
import { Identity, type Route, ROUTES } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../support/app.ts'
import { type Call, call } from '../support/http.ts'
import { freePort } from '../support/process.ts'
import { serviceEnvironment } from '../support/service.ts'
import { type Bench, createBench } from './support.ts'

/** Where the proxy of these tests stands. Loopback has many addresses, and the service sees which one is used. */
const PROXY = '127.0.8.1'
const ME = '/api/mssp/me'
const TENANTS = '/api/mssp/tenants'

let bench: Bench
let environment: Record<string, string>
let port: number
let app: Awaited<ReturnType<typeof startApp>>
let admin: { readonly id: string; readonly email: string }
beforeAll(async () => {
  ;[bench, port] = await Promise.all([createBench('proxy'), freePort()])
  const urls = bench.database.urls
  environment = {
    ...serviceEnvironment({ urls, kubeconfigPath: 'off', port, metricsPort: 0 }),
    SERVICE_AUTH_MODE: 'proxy',
    SERVICE_TRUSTED_PROXY_CIDRS: `${PROXY}/32, ::1/128`,
  }
  app = await startApp(environment)
  admin = await bench.user({ role: 'platform_admin', mustChange: true })
})
afterAll(async () => {
  await app?.stop()
  await bench?.close()
})

const host = () => `localhost:${port}`
const as = (email: string) => ({ 'x-forwarded-email': email })
const ask = (request: Partial<Call> & { readonly on?: number } = {}) =>
  call(request.on ?? app.port, {
    path: ME,
    from: PROXY,
    ...request,
    headers: { host: host(), ...request.headers },
  })
const codeOf = async (request: Parameters<typeof ask>[0]): Promise<unknown> => {
  const { status, body } = await ask(request)
  return status < 400 ? status : body.code
}
/** The same environment but for some variables, and on any port. */
async function withApp<T>(change: Record<string, string>, work: (on: number) => Promise<T>): Promise<T> {
  const other = await startApp({ ...environment, SERVICE_LISTEN: '127.0.0.1:0', ...change })
  try {
    return await work(other.port)
  } finally {
    await other.stop()
  }
}

describe('who is believed', () => {
  test('the proxy, by the address of its connection, and nobody by a header', async () => {
    expect((await ask({ headers: as(admin.email) })).body.email).toBe(admin.email)
    for (const forwarded of [
      {},
      { 'x-forwarded-for': PROXY },
      { forwarded: `for=${PROXY}` },
      { 'x-real-ip': PROXY },
    ])
      for (const from of ['127.0.0.1', '127.0.8.2'])
        expect(await codeOf({ from, headers: { ...as(admin.email), ...forwarded } })).toBe('untrusted_proxy')
    for (const name of ['x-forwarded-user', 'x-forwarded-groups', 'X-FORWARDED-EMAIL'])
      expect(await codeOf({ from: '127.0.8.2', headers: { [name]: '' } })).toBe('untrusted_proxy')
  })

  test('also where IPv4 comes mapped into IPv6, and over IPv6 itself', () =>
    withApp({ SERVICE_LISTEN: '[::]:0' }, async (on) => {
      const headers = as(admin.email)
      expect(await codeOf({ on, headers })).toBe(200)
      expect(await codeOf({ on, headers, from: '127.0.8.2' })).toBe('untrusted_proxy')
      expect(await codeOf({ on, headers, to: '::1', from: '::1' })).toBe(200)
    }))

  test('no IPv6 address where none is listed, and nobody where nothing is', () =>
    withApp({ SERVICE_LISTEN: '[::]:0', SERVICE_TRUSTED_PROXY_CIDRS: '0.0.0.0/0' }, async (on) => {
      expect(await codeOf({ on, headers: as(admin.email) })).toBe(200)
      expect(await codeOf({ on, headers: as(admin.email), to: '::1', from: '::1' })).toBe('untrusted_proxy')
      await withApp({ SERVICE_TRUSTED_PROXY_CIDRS: '' }, async (closed) =>
        expect(await codeOf({ on: closed, headers: as(admin.email) })).toBe('untrusted_proxy'),
      )
    }))

  test('without identity headers everybody is nobody, with or without a cookie, from anywhere', async () => {
    for (const from of [PROXY, '127.0.0.1'])
      for (const headers of [{}, { cookie: 'service_session=AAAAAAAAAAAAAAAAAAAAAA' }])
        expect(await codeOf({ from, headers })).toBe('unauthenticated')
    expect(await codeOf({ headers: { 'x-forwarded-groups': 'admins' } })).toBe('unauthenticated')
  })

  test('no header that was sent twice or says two things', async () => {
    const { email } = admin
    for (const headers of [
      { 'x-forwarded-email': [email, email] },
      { 'x-forwarded-email': `${email},${email}` },
      { ...as(email), 'x-forwarded-user': ['a', 'b'] },
      { ...as(email), 'x-forwarded-user': 'a, b' },
      { ...as(email), 'x-forwarded-groups': ['a', 'b'] },
    ])
      expect(await codeOf({ headers }), JSON.stringify(headers)).toBe('untrusted_proxy')
    const usual = { ...as(email), 'x-forwarded-user': 'ann', 'x-forwarded-groups': 'a,b' }
    expect(await codeOf({ headers: usual })).toBe(200)
  })

  test('the headers that the configuration names, and no others', () =>
    withApp({ SERVICE_TRUSTED_HEADER_EMAIL: 'X-Auth-Email' }, async (on) => {
      expect(await codeOf({ on, headers: { 'x-auth-email': admin.email } })).toBe(200)
      expect(await codeOf({ on, headers: as(admin.email) })).toBe('unauthenticated')
      expect(await codeOf({ on, headers: { 'x-forwarded-user': admin.email } })).toBe(200)
    }))

  test('in internal mode nobody: the headers say nothing', () =>
    withApp({ SERVICE_AUTH_MODE: 'internal' }, async (on) => {
      for (const from of [PROXY, '127.0.0.1'])
        expect(await codeOf({ on, from, headers: as(admin.email) })).toBe('unauthenticated')
    }))
})

describe('who it is', () => {
  test('a user of the service, whatever the case; roles are ours, and no password has to be changed', async () => {
    const { body } = await ask({
      headers: { ...as(admin.email.toUpperCase()), 'x-forwarded-groups': 'nobody' },
    })
    expect(v.parse(Identity, body)).toMatchObject({
      user_id: admin.id,
      email: admin.email,
      user_type: 'mssp',
      role: 'platform_admin',
      tenant_id: null,
      current_tenant: null,
      must_change: false,
      session_expires_at: null,
      auth_mode: 'proxy',
      permissions: [...permissionsOf('platform_admin')],
    })
    const analyst = await bench.user({ role: 'analyst' })
    const request = { method: 'POST', path: TENANTS, headers: { ...as(analyst.email), ...origin() } }
    expect(await codeOf(request)).toBe('capability_missing')
  })

  test('nobody unknown or inactive, and nobody of another host', async () => {
    const [one, two] = [await bench.tenant(), await bench.tenant()]
    const inactive = await bench.user({ active: false })
    const customer = await bench.user({ tenantId: one.id })
    const at = (slug: string) => `${slug}.${host()}`
    const me = '/api/tenant/me'
    for (const email of [inactive.email, `${randomUUID()}@example.test`, admin.id, "' or true --"])
      expect(await codeOf({ headers: as(email) })).toBe('wrong_audience')
    const own = await ask({ path: me, headers: { ...as(customer.email), host: at(one.slug) } })
    expect(v.parse(Identity, own.body)).toMatchObject({ tenant_id: one.id, current_tenant: one.id })
    for (const slug of [two.slug, 'nobody'])
      expect(await codeOf({ path: me, headers: { ...as(customer.email), host: at(slug) } })).toBe(
        'wrong_audience',
      )
    expect(await codeOf({ headers: as(customer.email) })).toBe('wrong_audience')
    expect(await codeOf({ path: me, headers: { ...as(admin.email), host: at(one.slug) } })).toBe(
      'wrong_audience',
    )
    await bench.superuser`update tenants set deleted_at = now() where id = ${one.id}`
    expect(await codeOf({ path: me, headers: { ...as(customer.email), host: at(one.slug) } })).toBe(
      'wrong_audience',
    )
  })
})

const origin = () => ({ origin: `http://${host()}`, 'content-type': 'application/json' })

describe('what there is', () => {
  const gone = (Object.entries(ROUTES) as [string, Route][]).filter(
    ([, route]) => route.internalModeOnly === true,
  )
  test.each(gone)('%s is not found, whoever asks', async (_, { method, path }) => {
    for (const headers of [as(admin.email), {}])
      expect(
        await codeOf({ method, path: path.replace('{id}', admin.id), headers: { ...headers, ...origin() } }),
      ).toBe('not_found')
  })

  test('health says the mode; users are made without a password, under the rules of origins', async () => {
    expect((await ask({ path: '/health/live' })).body).toMatchObject({ auth_mode: 'proxy' })
    const email = `${randomUUID()}@example.test`
    const request = {
      method: 'POST',
      path: '/api/mssp/users',
      body: JSON.stringify({ email, role: 'analyst' }),
    }
    const json = { 'content-type': 'application/json' }
    for (const headers of [json, { ...json, origin: 'http://evil.example' }])
      expect(await codeOf({ ...request, headers: { ...as(admin.email), ...headers } })).toBe('csrf_failed')
    const made = await ask({ ...request, headers: { ...as(admin.email), ...origin() } })
    expect(made).toMatchObject({ status: 201, body: { email, temporary_password: null, must_change: false } })
    expect(await codeOf({ headers: as(email) })).toBe(200)
  })
})

describe('a tenant that a request names', () => {
  const inside = (email: string, tenant: string | string[], path = ME) => ({
    path,
    headers: { ...as(email), 'x-service-tenant': tenant },
  })
  const entered = (userId: string) =>
    bench.superuser<{ tenant_id: string; acting_as: string }[]>`
      select tenant_id, acting_as, actor_principal, resource_id from audit_log
       where actor_id = ${userId} and action = 'tenant.assume' order by id`

  test('is entered by id or by slug for that request, and told once in 30 minutes for each user', async () => {
    const [one, two] = [await bench.tenant(), await bench.tenant()]
    const [ann, bob] = [await bench.user({ role: 'analyst' }), await bench.user({ role: 'analyst' })]
    const many = Array.from({ length: 20 }, () => ask(inside(ann.email, one.slug)))
    for (const { body } of await Promise.all(many))
      expect(v.parse(Identity, body)).toMatchObject({
        tenant_id: null,
        current_tenant: one.id,
        current_tenant_slug: one.slug,
        current_tenant_display_name: 'T',
        current_tenant_expires_at: null,
      })
    expect((await ask(inside(ann.email, one.id))).body).toMatchObject({ current_tenant: one.id })
    expect((await ask({ headers: as(ann.email) })).body).toMatchObject({ current_tenant: null })
    const row = (id: string) => ({
      tenant_id: id,
      acting_as: id,
      actor_principal: 'User',
      resource_id: id,
    })
    expect(await entered(ann.id)).toEqual([row(one.id)])
    await ask(inside(ann.email, two.id))
    await ask(inside(bob.email, one.id))
    expect(await entered(ann.id)).toEqual([row(one.id), row(two.id)])
    expect(await entered(bob.id)).toEqual([row(one.id)])
    await bench.superuser`
      update audit_log set timestamp = timestamp - interval '29 minutes' where actor_id = ${ann.id}`
    await ask(inside(ann.email, one.id))
    expect(await entered(ann.id)).toHaveLength(2)
    await bench.superuser`
      update audit_log set timestamp = timestamp - interval '2 minutes' where actor_id = ${ann.id}`
    await ask(inside(ann.email, one.slug))
    expect(await entered(ann.id)).toHaveLength(3)
  })

  test('narrows what its reader sees', async () => {
    const [one, two] = [await bench.tenant(), await bench.tenant()]
    const { email } = await bench.user({ role: 'analyst' })
    for (const { id } of [one, two]) await ask(inside(email, id))
    const { body } = await ask(inside(email, one.slug, '/api/audit'))
    const tenants = (body.items as { tenant_id: string }[]).map(({ tenant_id }) => tenant_id)
    expect(new Set(tenants)).toEqual(new Set([one.id]))
  })

  test('has to be there; what is refused tells nothing, also not in the audit log', async () => {
    const [tenant, deleted] = [await bench.tenant(), await bench.tenant()]
    await bench.superuser`update tenants set deleted_at = now() where id = ${deleted.id}`
    const { id, email } = await bench.user({ role: 'analyst' })
    const { slug } = tenant
    for (const name of [
      deleted.id,
      deleted.slug,
      randomUUID(),
      'nobody',
      `${slug}, ${slug}`,
      slug.toUpperCase(),
    ])
      expect(await codeOf(inside(email, name)), name).toBe('not_found')
    expect(await codeOf(inside(email, [slug, slug]))).toBe('not_found')
    for (const name of [slug, 'nobody'])
      expect(await codeOf(inside(email, name, '/api/tenant/me'))).toBe('wrong_audience')
    const create = inside(email, slug, TENANTS)
    expect(await codeOf({ ...create, method: 'POST', headers: { ...create.headers, ...origin() } })).toBe(
      'capability_missing',
    )
    expect(await entered(id)).toEqual([])
    expect(await codeOf(inside(email, ''))).toBe(200)
  })

  test('says nothing of customers, who have their own', async () => {
    const [own, other] = [await bench.tenant(), await bench.tenant()]
    const customer = await bench.user({ tenantId: own.id })
    const request = inside(customer.email, other.slug, '/api/tenant/me')
    const { body } = await ask({
      ...request,
      headers: { ...request.headers, host: `${own.slug}.${host()}` },
    })
    expect(body).toMatchObject({ tenant_id: own.id, current_tenant: own.id })
    expect(await entered(customer.id)).toEqual([])
  })

  test('is not entered when the audit log cannot be written', async () => {
    const tenant = await bench.tenant()
    const { email } = await bench.user({ role: 'analyst' })
    await bench.superuser`revoke insert on audit_log from service_app`
    try {
      expect((await ask(inside(email, tenant.slug))).status).toBe(500)
    } finally {
      await bench.superuser`grant insert on audit_log to service_app`
    }
    expect(await codeOf(inside(email, tenant.slug))).toBe(200)
  })
})
