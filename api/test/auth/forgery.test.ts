import { type Route, ROUTES } from '@service/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../support/app.ts'
import { type Call, call } from '../support/http.ts'
import { freePort } from '../support/process.ts'
import { serviceEnvironment } from '../support/service.ts'
import { type Bench, createBench, PASSWORD } from './support.ts'

const CONSOLE = 'https://console.example.com'
const NOTHING = '0197a000-0000-7000-8000-000000000009'

let bench: Bench
let app: Awaited<ReturnType<typeof startApp>>
let host: string
/** A real session of the strongest role at each of three hosts, and of somebody who has to change the password. */
let people: Readonly<Record<'staff' | 'customer' | 'sibling' | 'newStaff' | 'newCustomer', Person>>
type Person = { readonly host: string; readonly cookie: string }
beforeAll(async () => {
  const port = await freePort()
  host = `localhost:${port}`
  bench = await createBench('forgery')
  const environment = serviceEnvironment({
    urls: bench.database.urls,
    kubeconfigPath: 'off',
    port,
    metricsPort: 0,
  })
  app = await startApp({ ...environment, SERVICE_MSSP_ORIGINS: `http://${host},${CONSOLE}` })
  const [one, two] = [await bench.tenant(), await bench.tenant()]
  const signIn = async (tenant: typeof one | null, mustChange = false): Promise<Person> => {
    const role = tenant === null ? 'platform_admin' : 'tenant_admin'
    const { email } = await bench.user({ tenantId: tenant?.id ?? null, role, mustChange })
    const at = tenant === null ? host : `${tenant.slug}.${host}`
    const { headers } = await ask({
      method: 'POST',
      path: '/api/auth/login',
      headers: { host: at, origin: `http://${at}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: PASSWORD }),
    })
    return { host: at, cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
  }
  people = {
    staff: await signIn(null),
    customer: await signIn(one),
    sibling: await signIn(two),
    newStaff: await signIn(null, true),
    newCustomer: await signIn(one, true),
  }
})
afterAll(async () => {
  await app?.stop()
  await bench?.close()
})

const ask = (request: Call) => call(app.port, request)
const codeOf = async (request: Call): Promise<unknown> => {
  const { status, body } = await ask(request)
  return status < 400 ? status : body.code
}
const routes = Object.entries(ROUTES) as [string, Route][]
const requestOf = ({ method, path }: Route) => ({ method, path: path.replace('{id}', NOTHING) })
const isWorkloads = ({ access: { kind } }: Route) => kind === 'adapter' || kind === 'worker'
const isPeoples = (route: Route) => !isWorkloads(route) && route.access.kind !== 'public'
/** Whoever may use a route, at the own host. */
const callerOf = (route: Route): Person => (route.access.kind === 'tenant' ? people.customer : people.staff)
const seen = { unsafe: 0, forged: 0, accepted: 0, cookies: 0, mustChange: 0 }
afterAll(() => console.log(`S5: ${JSON.stringify(seen)}`))

describe('a request that changes something', () => {
  const unsafe = routes.filter(([, { method }]) => method !== 'GET')

  test.each(unsafe.filter(([, route]) => !isWorkloads(route)))(
    '%s: comes from the very origin that it goes to, or is refused before anything else',
    async (_, route) => {
      seen.unsafe += 1
      const { host: at, cookie } = callerOf(route)
      const own = `http://${at}`
      const others = [people.staff, people.customer, people.sibling]
        .filter((person) => person.host !== at)
        .map((person) => `http://${person.host}`)
      const foreign = [
        ...others,
        CONSOLE,
        'http://evil.example',
        'null',
        '',
        `https://${at}`,
        `http://${at}0`,
        `${own}.evil.example`,
        `http://evil.${at}`,
        own.toUpperCase(),
        `${own}/`,
        `${own}, ${own}`,
      ]
      const forged = [
        {},
        ...foreign.map((origin) => ({ origin })),
        ...foreign.map((origin) => ({ origin, referer: `${own}/login` })),
        { origin: [own, 'http://evil.example'] },
        ...[...others, CONSOLE, 'http://evil.example'].map((origin) => ({ referer: `${origin}/${own}` })),
        { referer: 'about:blank' },
        { referer: '' },
      ]
      for (const headers of forged) {
        seen.forged += 1
        const request = { ...requestOf(route), headers: { host: at, cookie, ...headers } }
        expect(await codeOf(request), JSON.stringify(headers)).toBe('csrf_failed')
      }
      // Anonymous, so that nothing is done.
      for (const headers of [{ origin: own }, { referer: `${own}/login?next=/` }]) {
        seen.accepted += 1
        const request = { ...requestOf(route), headers: { host: at, ...headers } }
        expect(await codeOf(request), JSON.stringify(headers)).not.toBe('csrf_failed')
      }
    },
  )

  test.each(unsafe.filter(([, route]) => isWorkloads(route)))(
    '%s: needs a token and no origin, and a cookie is none',
    async (_, route) => {
      for (const origin of ['http://evil.example', `http://${host}`]) {
        const headers = { host, origin, cookie: people.staff.cookie }
        expect(await codeOf({ ...requestOf(route), headers })).toBe('invalid_token')
      }
    },
  )

  test('reading needs no origin', async () => {
    const headers = { host, cookie: people.staff.cookie, origin: 'http://evil.example' }
    expect(await codeOf({ path: '/api/mssp/tenants', headers })).toBe(200)
  })
})

describe('a session cookie', () => {
  test.each(routes.filter(([, route]) => isPeoples(route)))(
    '%s: twice is none, and so is that of another host',
    async (_, route) => {
      const own = callerOf(route)
      const { staff, customer, sibling } = people
      const strangers = [staff, customer, sibling].filter((person) => person.host !== own.host)
      const cookies = [
        `${own.cookie}; ${own.cookie}`,
        [own.cookie, own.cookie],
        ...strangers.flatMap(({ cookie }) => [
          cookie,
          // Planted by a sibling for the whole domain, before and after the own one.
          `${cookie}; ${own.cookie}`,
          `${own.cookie}; a=b; ${cookie}`,
        ]),
        `${own.cookie}x`,
        own.cookie.toUpperCase(),
        '',
      ]
      for (const cookie of cookies) {
        seen.cookies += 1
        const headers = { host: own.host, origin: `http://${own.host}`, cookie }
        expect(await codeOf({ ...requestOf(route), headers }), String(cookie)).toBe('unauthenticated')
      }
    },
  )

  test('of the own host is good there', async () => {
    const me = (person: Person, path: string) =>
      codeOf({ path, headers: { host: person.host, cookie: `a=b; ${person.cookie}` } })
    expect(await me(people.staff, '/api/mssp/me')).toBe(200)
    expect(await me(people.customer, '/api/tenant/me')).toBe(200)
  })
})

test.each(routes.filter(([, route]) => isPeoples(route)))(
  '%s: is closed while the password must be changed, unless it is needed for that',
  async (_, route) => {
    seen.mustChange += 1
    const { newCustomer, newStaff } = people
    const who = route.access.kind === 'tenant' ? newCustomer : newStaff
    const headers = { host: who.host, origin: `http://${who.host}`, cookie: who.cookie }
    const code = await codeOf({ ...requestOf(route), headers })
    expect(code === 'password_change_required').toBe(route.whileMustChange !== true)
  },
)
