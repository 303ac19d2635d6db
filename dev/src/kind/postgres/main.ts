import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, constants, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { pgdata, setting } from './config.ts'

/**
 * The entry point of the PostgreSQL stand-in, by the contract of the official image: POSTGRES_PASSWORD (required at
 * the first start), POSTGRES_USER, POSTGRES_DB, each also as <NAME>_FILE, PGDATA, and `.sql` files in
 * /docker-entrypoint-initdb.d. Without a shell there is no initdb here: a template was made beforehand.
 */
const BINARY = '/opt/postgres/bin/postgres'
const TEMPLATE = '/opt/postgres-template'
const SCRIPTS = '/docker-entrypoint-initdb.d'
/** Written last: data without it are those of a first start that was cut off. */
const DONE = 'initialised'

const present = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function socketFolder(): Promise<string> {
  const wanted = '/var/run/postgresql'
  return access(wanted, constants.W_OK).then(
    () => wanted,
    () => '/tmp',
  )
}

function start(args: readonly string[]): ChildProcess {
  return spawn(BINARY, ['-D', pgdata, ...args], { stdio: 'inherit' })
}

async function initialise(socket: string): Promise<void> {
  const password = setting('POSTGRES_PASSWORD')
  if (password === undefined) throw new Error('POSTGRES_PASSWORD is required at the first start')
  await mkdir(pgdata, { recursive: true })
  for (const name of await readdir(pgdata)) await rm(join(pgdata, name), { recursive: true, force: true })
  await cp(TEMPLATE, pgdata, { recursive: true })
  await tighten(pgdata)
  const server = start(['-c', 'listen_addresses=', '-c', `unix_socket_directories=${socket}`])
  const user = setting('POSTGRES_USER') ?? 'postgres'
  const database = setting('POSTGRES_DB') ?? user
  await prepare({ socket, user, password, database })
  server.kill('SIGINT')
  await once(server, 'close')
  await writeFile(join(pgdata, DONE), '')
}

/** PostgreSQL refuses data that others can read. */
async function tighten(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await tighten(path)
    else await chmod(path, 0o600)
  }
}

type First = {
  readonly socket: string
  readonly user: string
  readonly password: string
  readonly database: string
}

async function prepare({ socket, user, password, database }: First): Promise<void> {
  const as = (username: string, name: string) =>
    postgres({ host: socket, port: 5432, username, database: name, max: 1, onnotice: () => undefined })
  const quoted = `'${password.replaceAll("'", "''")}'`
  const first = as('postgres', 'postgres')
  await untilAnswering(first)
  if (user !== 'postgres') {
    // Nobody can rename the role of its own session.
    await first`create role renaming superuser login`
    const other = as('renaming', 'postgres')
    await first.end()
    await other`alter role postgres rename to ${other(user)}`
    await other.end()
  } else await first.end()
  const sql = as(user, 'postgres')
  await sql`drop role if exists renaming`
  await sql.unsafe('set standard_conforming_strings = on')
  await sql`alter role ${sql(user)} password ${sql.unsafe(quoted)}`
  if (database !== 'postgres') await sql`create database ${sql(database)}`
  await sql.end()
  const target = as(user, database)
  for (const name of (await readdir(SCRIPTS).catch((): string[] => [])).toSorted()) {
    if (!name.endsWith('.sql')) {
      if (!name.startsWith('..')) throw new Error(`${SCRIPTS}/${name}: this stand-in runs .sql files alone`)
      continue
    }
    await target.unsafe(await readFile(join(SCRIPTS, name), 'utf8'))
  }
  await target.end()
}

async function untilAnswering(sql: postgres.Sql): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (attempt === 300) throw error
      await sleep(100)
    }
  }
}

const [program, ...rest] = process.argv.slice(2)
const args = program === 'postgres' ? rest : process.argv.slice(2)
const socket = await socketFolder()
if (!(await present(join(pgdata, DONE)))) await initialise(socket)
const server = start(['-c', 'listen_addresses=*', '-c', `unix_socket_directories=${socket}`, ...args])
// SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill('SIGINT'))
const [code] = (await once(server, 'close')) as [number | null]
process.exitCode = code ?? 1
