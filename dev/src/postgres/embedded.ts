import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ensureRoles } from '@service/api/roles'
import { freePort } from '../cluster/ports.ts'
import { isRunning, signal, startProcess, stopProcess } from '../process.ts'
import type { ProcessRecord, RunningProcess } from '../process.ts'
import { findBinaries, isReachable } from './binaries.ts'
import type { Binaries } from './binaries.ts'
import { serverUser } from './system-user.ts'
import type { SystemUser } from './system-user.ts'

const run = promisify(execFile)

export type DatabaseUrls = { readonly admin: string; readonly app: string; readonly mssp: string }
export type RolePasswords = { readonly admin: string; readonly app: string; readonly mssp: string }

export type EmbeddedPostgresOptions = {
  /** Its parents must be open to everyone (`x`) when we are root; the data themselves are the server's alone. */
  readonly dataDir: string
  readonly port?: number
  readonly log?: (line: string) => void
  /** False is faster and loses data when the machine stops: for tests. */
  readonly durable?: boolean
}

export type EmbeddedPostgres = {
  /** The bootstrap superuser, database `postgres`. */
  readonly superuserUrl: string
  readonly urls: DatabaseUrls
  readonly passwords: RolePasswords
  readonly port: number
  readonly pid: number
  readonly process: ProcessRecord
  stop(): Promise<void>
}

type Passwords = RolePasswords & { readonly superuser: string }
type Server = {
  readonly binaries: Binaries
  readonly user: SystemUser | null
  readonly pgdata: string
  readonly options: EmbeddedPostgresOptions
}

export const DATABASE = 'service'
const READY_MS = 60_000

/**
 * A real PostgreSQL on 127.0.0.1 with the service's roles and an empty database `service`. The same `dataDir` gives
 * the same data and passwords again, also after a kill; a server left behind there is ended first.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const user = await serverUser()
  const server: Server = {
    binaries: await findBinaries(user),
    user,
    pgdata: join(options.dataDir, 'pgdata'),
    options,
  }
  await mkdir(options.dataDir, { recursive: true, mode: 0o755 })
  await chmod(options.dataDir, 0o711)
  if (user !== null && !(await isReachable(options.dataDir)))
    throw new Error(`${options.dataDir} lies in a private folder, where PostgreSQL's own user cannot come`)
  const passwords = await keepPasswords(options.dataDir)
  await initialise(server, passwords.superuser)
  await endLeftover(server)
  const port = options.port ?? (await freePort())
  const running = await launch(server, port)
  const stop = () => shutDown(running.record)
  const url = (role: string, password: string, database: string) =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
  const superuserUrl = url('postgres', passwords.superuser, 'postgres')
  try {
    await ensureRoles({ superuserUrl, database: DATABASE, passwords })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    superuserUrl,
    urls: {
      admin: url('service_admin', passwords.admin, DATABASE),
      app: url('service_app', passwords.app, DATABASE),
      mssp: url('service_mssp', passwords.mssp, DATABASE),
    },
    passwords,
    port,
    pid: running.pid,
    process: running.record,
    stop,
  }
}

/** Written before the data exist, so that there are never data whose password is unknown. */
async function keepPasswords(dataDir: string): Promise<Passwords> {
  const file = join(dataDir, 'passwords.json')
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (known !== undefined) return JSON.parse(known) as Passwords
  const fresh = () => randomBytes(24).toString('base64url')
  const passwords = { superuser: fresh(), admin: fresh(), app: fresh(), mssp: fresh() }
  await writeFile(`${file}.new`, JSON.stringify(passwords), { mode: 0o600 })
  await rename(`${file}.new`, file)
  return passwords
}

/** Beside its final place first: an interrupted initdb leaves nothing that looks like data. */
async function initialise(server: Server, password: string): Promise<void> {
  const { user, pgdata, binaries, options } = server
  if ((await readFile(join(pgdata, 'PG_VERSION'), 'utf8').catch(() => '')) !== '') return
  options.log?.('PostgreSQL: creating its data folder')
  const staging = join(options.dataDir, 'initdb')
  await rm(staging, { recursive: true, force: true })
  await mkdir(join(staging, 'pgdata'), { recursive: true })
  const passwordFile = join(staging, 'password')
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  if (user !== null)
    for (const path of [staging, join(staging, 'pgdata'), passwordFile]) await chown(path, user.uid, user.gid)
  const args = [
    `--pgdata=${join(staging, 'pgdata')}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
    ...(options.durable === false ? ['--no-sync'] : []),
  ]
  await run(binaries.initdb, args, { ...identity(user), cwd: '/', timeout: READY_MS })
  await rename(join(staging, 'pgdata'), pgdata)
  await rm(staging, { recursive: true, force: true })
}

/** Ends a server that an earlier, killed process left running on this folder. */
export async function endLeftovers(dataDir: string): Promise<void> {
  const user = await serverUser()
  await endLeftover({
    user,
    binaries: await findBinaries(user),
    pgdata: join(dataDir, 'pgdata'),
    options: { dataDir },
  })
}

const identity = (user: SystemUser | null) => (user === null ? {} : { uid: user.uid, gid: user.gid })

/** A killed parent leaves its server behind, which holds the data. */
async function endLeftover({ user, pgdata, binaries }: Server): Promise<void> {
  if ((await readFile(join(pgdata, 'postmaster.pid'), 'utf8').catch(() => '')) === '') return
  const args = ['stop', '--pgdata', pgdata, '--mode', 'immediate', '--wait', '--timeout', '20']
  await run(binaries.pgCtl, args, { ...identity(user), cwd: '/', timeout: 30_000 }).catch(() => undefined)
}

function settings({ options, pgdata }: Server, port: number): string[] {
  const durable = options.durable ?? true
  const values: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    // A longer path than the system takes for a socket would keep the server from starting.
    unix_socket_directories: pgdata.length < 85 ? pgdata : '',
    password_encryption: 'scram-sha-256',
    max_connections: '200',
    shared_buffers: '128MB',
    fsync: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    log_timezone: 'UTC',
    timezone: 'UTC',
    // Statements of a failed query may carry what must not stand in a log.
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: '0',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** The shared memory of a killed server stays until its last child has noticed: then it is tried again. */
async function launch(server: Server, port: number): Promise<RunningProcess> {
  const deadline = performance.now() + READY_MS
  const logFile = join(server.options.dataDir, 'server.log')
  for (;;) {
    const running = await startProcess(
      'postgres',
      server.binaries.postgres,
      ['-D', server.pgdata, ...settings(server, port)],
      { logFile, cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, ...identity(server.user) },
    )
    if (await becomesReady(running, server.pgdata, deadline)) return running
    await shutDown(running.record)
    const tail = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5).join('\n')
    const passing = /shared memory block|lock file|is in use|starting up/.test(tail)
    if (!passing || performance.now() > deadline) throw new Error(`PostgreSQL does not start:\n${tail}`)
    await sleep(300)
  }
}

async function becomesReady(running: RunningProcess, pgdata: string, deadline: number): Promise<boolean> {
  while (running.exit() === undefined && performance.now() < deadline) {
    const lines = (await readFile(join(pgdata, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    if (Number(lines[0]) === running.pid && lines[7]?.trim() === 'ready') return true
    await sleep(20)
  }
  return false
}

/** SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client. */
async function shutDown(record: ProcessRecord): Promise<void> {
  const only = { ...record, group: false }
  signal(only, 'SIGINT')
  const deadline = performance.now() + 15_000
  while (isRunning(record) && performance.now() < deadline) await sleep(20)
  await stopProcess(only, 2_000)
}
