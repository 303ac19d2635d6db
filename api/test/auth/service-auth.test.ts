import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { login, resolveSession } from '../../src/verbs/auth/index.ts'
import { attempt, type Bench, codeOf, createBench, MSSP, PASSWORD } from './support.ts'

const MAIN = fileURLToPath(new URL('../../src/service-auth/main.ts', import.meta.url))
const NEW = 'set from inside the pod'

// Each run is a process that loads the driver: seconds where many share a machine.
vi.setConfig({ testTimeout: 180_000 })

let bench: Bench
beforeAll(async () => {
  bench = await createBench('service_auth')
})
afterAll(() => bench.close())

type Ended = { readonly code: number | null; readonly out: string; readonly err: string }
function run(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ended> {
  const { app, mssp } = bench.database.urls
  const urls = { SERVICE_DATABASE_APP_URL: app, SERVICE_DATABASE_MSSP_URL: mssp }
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: '/usr/bin', ...urls, ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  // Who needs no password does not wait for one.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}
const set = (email: string, password: string, ...flags: string[]) =>
  run(['set-password', email, ...flags], { SERVICE_PASSWORD: password })

test('the password is set for users of both sides, to be changed, and their sessions end', async () => {
  const tenant = await bench.tenant()
  const customer = await bench.user({ tenantId: tenant.id, hash: null })
  expect(await set(customer.email, NEW)).toMatchObject({ code: 0, err: '' })
  expect(await codeOf(login(bench.context(), attempt(customer.email, NEW, tenant.host)))).toBe('ok')

  const staff = await bench.user()
  const ctx = bench.context()
  const { cookie } = await login(ctx, attempt(staff.email, PASSWORD))
  const piped = await run(['set-password', staff.email.toUpperCase(), '-o', 'json'], {}, `${NEW}\n`)
  expect(JSON.parse(piped.out)).toEqual({
    user_id: staff.id,
    email: staff.email,
    must_change: true,
    dry_run: false,
  })
  expect(await resolveSession(ctx, { cookie, host: MSSP })).toBeNull()
  expect((await login(ctx, attempt(staff.email, NEW))).response.must_change).toBe(true)
  for (const { id } of [customer, staff])
    expect(await bench.actions(id)).toContain('auth.password.reset.admin')
  const [row] = await bench.superuser<{ actor_id: string }[]>`
    select actor_id from audit_log where resource_id = ${staff.id} and action = 'auth.password.reset.admin'`
  expect(row?.actor_id).toBe('system:service-auth')
})

test('a dry run changes nothing', async () => {
  const user = await bench.user()
  expect(await set(user.email, NEW, '--dry-run')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^dry/),
  })
  expect(await codeOf(login(bench.context(), attempt(user.email, PASSWORD)))).toBe('ok')
  expect(await bench.actions(user.id)).toEqual(['auth.login.success'])
})

test('what is wrong is told by exit code and on standard error alone, without the password', async () => {
  const user = await bench.user()
  const unreachable = { SERVICE_DATABASE_MSSP_URL: 'postgres://service_mssp:x@127.0.0.1:1/none' }
  const cases: readonly (readonly [number, Promise<Ended>])[] = [
    [1, run(['set-password', user.email], { ...unreachable, SERVICE_PASSWORD: NEW })],
    [2, run(['set-password', user.email], { SERVICE_PASSWORD: NEW, SERVICE_DATABASE_APP_URL: 'nonsense' })],
    [2, run(['set-password', user.email])],
    [3, set('nobody@example.test', NEW)],
    [4, set(user.email, 'too short')],
  ]
  for (const [code, running] of cases) {
    const ended = await running
    expect(ended).toMatchObject({ code, out: '' })
    expect(ended.err).toMatch(/^service-auth: /)
    for (const secret of [NEW, 'too short', '    at ']) expect(ended.err).not.toContain(secret)
  }
  expect((await run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect(await codeOf(login(bench.context(), attempt(user.email, PASSWORD)))).toBe('ok')
})
