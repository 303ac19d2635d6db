import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import { connect, type Sql } from '../../src/db/connection.ts'
import { createDatabase, type Database } from '../../src/db/database.ts'
import { silent } from '../../src/log.ts'

export type TestDatabase = {
  readonly db: Database
  readonly urls: { readonly admin: string; readonly app: string; readonly mssp: string }
  readonly superuserUrl: string
  /** Sees everything: the cross-tenant role. */
  readonly all: Sql
  stop(): Promise<void>
}

export async function testDatabase(): Promise<TestDatabase> {
  const made = await createTestDatabase('api')
  const { urls, superuserUrl } = made
  const db = createDatabase({ appUrl: urls.app, msspUrl: urls.mssp, log: silent })
  const all = connect(urls.mssp, { max: 2, applicationName: 'test' })
  return {
    db,
    urls,
    superuserUrl,
    all,
    async stop() {
      await all.end({ timeout: 5 })
      await db.close()
      await made.drop()
    },
  }
}

/** Rows of every table of the service, to show that nothing was written. */
export async function rowCounts(sql: Sql): Promise<Record<string, number>> {
  const tables = [
    'tenants',
    'tenant_statuses',
    'tenant_installations',
    'tenant_secrets',
    'tenant_lifecycle_events',
    'tenant_heartbeats',
    'integration_configs',
    'branding_configs',
    'reconcile_queue',
    'adapter_checkpoints',
    'events',
    'users',
    'audit_log',
  ]
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [row] = await sql<{ count: number }[]>`select count(*)::int as count from ${sql(table)}`
      return [table, row?.count ?? -1] as const
    }),
  )
  return Object.fromEntries(counts)
}
