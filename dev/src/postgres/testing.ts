import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { inject } from 'vitest'
import { migrate as migrateService } from '../../../api/src/db/migrate.ts'
import { isRunning, ownRecord } from '../process.ts'
import type { ProcessRecord } from '../process.ts'
import { DATABASE, endLeftovers, startEmbeddedPostgres } from './embedded.ts'
import type { DatabaseUrls, RolePasswords } from './embedded.ts'

/** What test files need to make databases on the run's server; plain data, for vitest's provide and inject. */
export type TestPostgres = {
  readonly superuserUrl: string
  readonly passwords: RolePasswords
  /** A migrated database that nobody may be connected to. */
  readonly template: string
}

export type TestPostgresServer = { readonly context: TestPostgres; stop(): Promise<void> }

export type TestDatabase = {
  readonly urls: DatabaseUrls
  /** The superuser's, in this database: for tests that look at or break what no role of ours may. */
  readonly superuserUrl: string
  drop(): Promise<void>
}

declare module 'vitest' {
  interface ProvidedContext {
    postgres: TestPostgres
  }
}

type Migrate = typeof migrateService
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const PREFIX = 'service-test-postgres-'

/** For a vitest globalSetup: one server for the run, with a migrated template. Without durability, so never for data. */
export async function startTestPostgres(options: { migrate?: Migrate } = {}): Promise<TestPostgresServer> {
  await removeAbandoned()
  const directory = await mkdtemp(join(tmpdir(), PREFIX))
  await writeFile(join(directory, 'owner.json'), JSON.stringify(ownRecord('test run')))
  const server = await startEmbeddedPostgres({ dataDir: directory, durable: false })
  const stop = async () => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await (options.migrate ?? migrateService)({ adminUrl: server.urls.admin, log: silent })
  } catch (error) {
    await stop()
    throw error
  }
  const { superuserUrl, passwords } = server
  return { context: { superuserUrl, passwords, template: DATABASE }, stop }
}

/**
 * For a test file: a migrated database of its own, dropped by `drop`. Uses the run's server when a globalSetup has
 * provided one, else starts one for this database alone.
 */
export async function createTestDatabase(name = 'test'): Promise<TestDatabase> {
  const shared: TestPostgres | undefined = inject('postgres')
  const own = shared === undefined ? await startTestPostgres() : undefined
  const { superuserUrl, passwords, template } = shared ?? (own as TestPostgresServer).context
  const database = `${name.replaceAll(/[^a-z0-9]+/g, '_').slice(0, 40)}_${randomBytes(4).toString('hex')}`
  const url = new URL(superuserUrl)
  url.pathname = `/${database}`
  await asSuperuser(superuserUrl, async (sql) => {
    await sql`create database ${sql(database)} template ${sql(template)} owner service_admin`
    await sql`revoke all on database ${sql(database)} from public`
    await sql`grant connect on database ${sql(database)} to service_app, service_mssp`
  })
  const of = (role: keyof RolePasswords) =>
    `postgres://service_${role}:${passwords[role]}@${url.host}/${database}`
  return {
    urls: { admin: of('admin'), app: of('app'), mssp: of('mssp') },
    superuserUrl: url.href,
    drop: async () => {
      await asSuperuser(superuserUrl, (sql) => sql`drop database if exists ${sql(database)} with (force)`)
      await own?.stop()
    },
  }
}

async function asSuperuser(url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined })
  try {
    await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** A killed test run leaves its server behind. */
async function removeAbandoned(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX))
  for (const name of names) {
    const directory = join(tmpdir(), name)
    const owner = await readOwner(directory)
    if (owner === undefined || isRunning(owner)) continue
    await endLeftovers(directory)
    await rm(directory, { recursive: true, force: true })
  }
}

async function readOwner(directory: string): Promise<ProcessRecord | undefined> {
  return readFile(join(directory, 'owner.json'), 'utf8').then(
    (text) => JSON.parse(text) as ProcessRecord,
    () => undefined,
  )
}
