import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../src/postgres/embedded.ts'
import type { EmbeddedPostgres } from '../src/postgres/embedded.ts'
import { isRunning } from '../src/process.ts'

const run = promisify(execFile)
let dataDir: string
let server: EmbeddedPostgres | undefined

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'service-postgres-test-'))
})
afterAll(async () => {
  await server?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const start = async (): Promise<EmbeddedPostgres> => {
  server = await startEmbeddedPostgres({ dataDir, durable: false })
  return server
}
async function query<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 5, onnotice: () => undefined })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
const user = (url: string) =>
  query(url, async (sql) => {
    const [row] = await sql<{ name: string }[]>`select current_user as name`
    return row?.name
  })

test('the three roles log in, only with their passwords, only on the loopback', async () => {
  const { urls, port, superuserUrl } = await start()
  expect(await Promise.all([user(urls.admin), user(urls.app), user(urls.mssp)])).toEqual([
    'service_admin',
    'service_app',
    'service_mssp',
  ])
  const wrong = new URL(urls.app)
  wrong.password = 'wrong'
  await expect(user(wrong.href)).rejects.toMatchObject({ code: '28P01' })
  await expect(
    user(urls.app.replace('/service', '/postgres').replace('service_app', 'service_definer')),
  ).rejects.toThrow()
  const rules = await query(superuserUrl, (sql) => sql`select distinct auth_method from pg_hba_file_rules`)
  expect(rules.map((rule) => rule.auth_method)).toEqual(['scram-sha-256'])
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.internal === false && each.family === 'IPv4')
  if (outside === undefined) return
  const reached = await new Promise((resolve) => {
    const socket = connect(port, outside.address)
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
  })
  expect(reached).toBe(false)
})

test('data and passwords are the same after a stop, and the passwords are ours alone to read', async () => {
  const first = server ?? (await start())
  await query(first.urls.admin, (sql) => sql`create table kept as select 42 as answer`)
  await first.stop()
  expect(isRunning(first.process)).toBe(false)
  const second = await start()
  expect(await query(second.urls.admin, (sql) => sql`select answer from kept`)).toEqual([{ answer: 42 }])
  expect(second.passwords).toEqual(first.passwords)
  expect((await stat(join(dataDir, 'passwords.json'))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(dataDir, 'server.log'), 'utf8')).not.toContain(first.passwords.app)
})

test('a killed server, with a client in the middle of a query, starts again at once', async () => {
  const first = server ?? (await start())
  const sleeping = query(first.urls.app, (sql) => sql`select pg_sleep(30)`).catch((error: unknown) => error)
  await new Promise((resolve) => setTimeout(resolve, 200))
  process.kill(first.pid, 'SIGKILL')
  const second = await start()
  expect(second.pid).not.toBe(first.pid)
  expect(await query(second.urls.admin, (sql) => sql`select answer from kept`)).toEqual([{ answer: 42 }])
  expect(await sleeping).toBeInstanceOf(Error)
})

test('a server whose starter was killed is ended by the next start', async () => {
  await server?.stop()
  const embedded = JSON.stringify(new URL('../src/postgres/embedded.ts', import.meta.url).href)
  const script = `
    const { startEmbeddedPostgres } = await import(${embedded})
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: false })
    console.log(JSON.stringify(server.process))
    process.kill(process.pid, 'SIGKILL')`
  const output = await run(process.execPath, ['--input-type=module', '--eval', script]).catch(
    (error: { stdout: string }) => error,
  )
  const orphan = JSON.parse(output.stdout) as EmbeddedPostgres['process']
  expect(isRunning(orphan)).toBe(true)
  const next = await start()
  expect(isRunning(orphan)).toBe(false)
  expect(await user(next.urls.mssp)).toBe('service_mssp')
})
