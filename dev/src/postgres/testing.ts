import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import type { DatabaseUrls, RolePasswords } from './embedded.ts'
import { startTestPostgres } from './test-server.ts'
import type { TestPostgres, TestPostgresServer } from './test-server.ts'

export { startTestPostgres } from './test-server.ts'
export type { TestPostgres, TestPostgresServer } from './test-server.ts'

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
