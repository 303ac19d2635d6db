import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseMigrateConfig } from '../../src/config/index.ts'
import { createPasswordHasher } from '../../src/identity/index.ts'
import { silent } from '../../src/log.ts'
import { prepareDatabase } from '../../src/prepare.ts'
import { findPasswordOwner, setPassword } from '../../src/verbs/auth/set-password.ts'
import { startApp } from '../support/app.ts'
import { type Call, call } from '../support/http.ts'
import { freePort } from '../support/process.ts'
import { ADMIN, serviceEnvironment } from '../support/service.ts'
import { type Bench, createBench, PASSWORD } from './support.ts'

const PROXY = '127.0.9.1'
const NEW = 'chosen by the administrator'

let bench: Bench
let environment: Record<string, string>
let host: string
beforeAll(async () => {
  const port = await freePort()
  bench = await createBench('switch')
  host = `localhost:${port}`
  environment = {
    ...serviceEnvironment({ urls: bench.database.urls, kubeconfigPath: 'off', port, metricsPort: 0 }),
    SERVICE_TRUSTED_PROXY_CIDRS: `${PROXY}/32`,
  }
})
afterAll(() => bench?.close())

type Service = ReturnType<typeof client>

/** The same hosts in every mode, as a browser sees them. */
function client(port: number) {
  const send = (request: Call & { readonly json?: unknown; readonly at?: string }) => {
    const to = request.at ?? host
    const headers = { host: to, origin: `http://${to}`, 'content-type': 'application/json' }
    return call(port, {
      from: PROXY,
      ...request,
      headers: { ...headers, ...request.headers },
      ...(request.json === undefined ? {} : { method: 'POST', body: JSON.stringify(request.json) }),
    })
  }
  const login = (email: string, password: string, at = host) =>
    send({ path: '/api/auth/login', json: { email, password }, at })
  return {
    send,
    login,
    signIn: async (email: string, password: string, at = host): Promise<Record<string, string>> => {
      const { status, headers } = await login(email, password, at)
      expect(status).toBe(200)
      return { cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
    },
  }
}

/** A start as a customer's: the init step, then the service, in this mode. */
async function inMode<T>(mode: 'internal' | 'proxy', work: (service: Service) => Promise<T>): Promise<T> {
  await prepareDatabase(parseMigrateConfig(environment), silent)
  const app = await startApp({ ...environment, SERVICE_AUTH_MODE: mode, SERVICE_LISTEN: '127.0.0.1:0' })
  try {
    return await work(client(app.port))
  } finally {
    await app.stop()
  }
}

/** All that signing in depends on, row by row. */
const stored = async () => {
  const tables = ['users', 'password_credentials', 'sessions', 'login_shadows']
  const rows = tables.map(
    (table) =>
      bench.superuser<{ row: string }[]>`select t::text as row from ${bench.superuser(table)} t order by 1`,
  )
  return (await Promise.all(rows)).flat().map(({ row }) => row)
}

test('from internal to proxy mode and back again nothing is lost', async () => {
  const tenant = await bench.tenant()
  const portal = `${tenant.slug}.${host}`
  const customer = await bench.user({ tenantId: tenant.id })
  const [ann, bob] = [`${randomUUID()}@example.test`, `${randomUUID()}@example.test`]
  const me = { path: '/api/mssp/me' }

  const before = await inMode('internal', async ({ send, login, signIn }) => {
    const leaver = await bench.user({ role: 'analyst' })
    const boss = await signIn(ADMIN.email, ADMIN.password)
    const change = { old_password: ADMIN.password, new_password: NEW }
    expect((await send({ path: '/api/auth/password/change', headers: boss, json: change })).status).toBe(200)
    const made = await send({
      path: '/api/mssp/users',
      headers: boss,
      json: { email: ann, role: 'analyst' },
    })
    for (let round = 0; round < 3; round += 1) expect((await login(ann, 'a wrong one')).status).toBe(401)
    return {
      boss,
      customer: await signIn(customer.email, PASSWORD, portal),
      leaver,
      leaving: await signIn(leaver.email, PASSWORD),
      temporary: String(made.body.temporary_password),
      rows: await stored(),
    }
  })

  await inMode('proxy', async ({ send, login }) => {
    expect((await login(ADMIN.email, NEW)).status).toBe(404)
    for (const headers of [before.boss, before.leaving])
      expect((await send({ ...me, headers })).status).toBe(401)
    const boss = { 'x-forwarded-email': ADMIN.email }
    expect((await send({ ...me, headers: boss })).body).toMatchObject({ auth_mode: 'proxy' })
    expect((await send({ ...me, headers: { 'x-forwarded-email': ann } })).body.must_change).toBe(false)
    const inside = { path: '/api/tenant/me', at: portal, headers: { 'x-forwarded-email': customer.email } }
    expect((await send(inside)).status).toBe(200)
    // Reading changes nothing of what the other mode needs.
    expect(await stored()).toEqual(before.rows)
    const made = { path: '/api/mssp/users', headers: boss, json: { email: bob, role: 'analyst' } }
    expect((await send(made)).body).toMatchObject({ temporary_password: null })
    const away = { path: `/api/mssp/users/${before.leaver.id}:deactivate`, headers: boss, json: {} }
    expect((await send(away)).status).toBe(200)
  })

  await inMode('internal', async ({ send, login, signIn }) => {
    const unchanged = (rows: readonly string[]) =>
      rows.filter((row) => !row.includes(before.leaver.id) && !row.includes(bob))
    expect(unchanged(await stored())).toEqual(unchanged(before.rows))
    // Sessions go on where they were; the headers of the proxy say nothing any more.
    expect((await send({ ...me, headers: before.boss })).body).toMatchObject({ auth_mode: 'internal' })
    const inside = { path: '/api/tenant/me', at: portal, headers: before.customer }
    expect((await send(inside)).body).toMatchObject({ user_id: customer.id })
    expect((await send({ ...me, headers: { 'x-forwarded-email': ADMIN.email } })).status).toBe(401)
    // Whom the other mode has sent away stays away.
    expect((await send({ ...me, headers: before.leaving })).status).toBe(401)
    expect((await login(before.leaver.email, PASSWORD)).status).toBe(401)
    // The first administrator's password is the one that was chosen, whatever the init step is told.
    expect((await login(ADMIN.email, ADMIN.password)).status).toBe(401)
    expect((await login(ADMIN.email, NEW)).body).toMatchObject({ must_change: false })
    expect((await login(ann, before.temporary)).body).toMatchObject({ must_change: true })
    const admins = await bench.superuser`select from users where role = 'platform_admin'`
    expect(admins).toHaveLength(1)
    // Who came in proxy mode has no password until one is set, by the command or by an administrator.
    expect((await login(bob, PASSWORD)).status).toBe(401)
    const hasher = createPasswordHasher()
    const ctx = { db: bench.db, clock: () => new Date(), hashPassword: (text: string) => hasher.hash(text) }
    await setPassword(ctx, { user: await findPasswordOwner(ctx, bob), password: PASSWORD })
    expect((await login(bob, PASSWORD)).body).toMatchObject({ must_change: true })
    const reset = await send({
      path: `/api/mssp/users/${(await findPasswordOwner(ctx, ann)).id}/password/reset`,
      headers: before.boss,
      json: {},
    })
    await signIn(ann, String(reset.body.temporary_password))
  })
})
