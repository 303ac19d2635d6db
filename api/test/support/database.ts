import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../dev/src/postgres/embedded.ts'
import { connect, type Sql } from '../../src/db/connection.ts'
import { createDatabase, type Database } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { silent } from '../../src/log.ts'

export type TestDatabase = {
  readonly db: Database
  readonly urls: { readonly admin: string; readonly app: string; readonly mssp: string }
  /** Sees everything: the cross-tenant role. */
  readonly all: Sql
  stop(): Promise<void>
}

export async function testDatabase(): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'service-api-db-'))
  const server = await startEmbeddedPostgres({ dataDir, durable: false })
  await migrate({ adminUrl: server.urls.admin, log: silent })
  const db = createDatabase({ appUrl: server.urls.app, msspUrl: server.urls.mssp, log: silent })
  const all = connect(server.urls.mssp, { max: 2, applicationName: 'test' })
  return {
    db,
    urls: server.urls,
    all,
    async stop() {
      await all.end({ timeout: 5 })
      await db.close()
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
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
