import type { Log } from '../log.ts'
import { withConnection } from './connection.ts'
import type { TransactionSql } from './connection.ts'
import { readMigrations } from './migrations.ts'
import type { Migration } from './migrations.ts'

export { ensureRoles } from './roles.ts'

export type MigrateOptions = {
  /** As `service_admin`, the owner. */
  readonly adminUrl: string
  readonly log: Log
}

/** Held in each migration's transaction, so that runs at the same time take turns. */
const ADVISORY_LOCK = 712_340_002

/**
 * Brings the schema forward, never back: each missing migration in a transaction of its own. Refuses when an applied
 * one has another content than ours, or is unknown here (an older version in front of a newer database).
 */
export async function migrate({ adminUrl, log }: MigrateOptions): Promise<{ applied: string[] }> {
  const migrations = await readMigrations()
  return withConnection(adminUrl, 'service-migrate', async (sql) => {
    const applied: string[] = []
    for (;;) {
      const name = await sql.begin((tx) => applyNext(tx, migrations))
      if (name === undefined) return { applied }
      applied.push(name)
      log.info({ migration: name }, 'migration applied')
    }
  })
}

async function applyNext(tx: TransactionSql, migrations: readonly Migration[]): Promise<string | undefined> {
  // Waiting for another run is no failure; what follows must not queue behind a long reader for ever.
  await tx`set local lock_timeout = 0`
  await tx`select pg_catalog.pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)`
  await tx`set local lock_timeout = '60s'`
  await tx`
    create table if not exists public.schema_migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`
  const done = await tx<{ name: string; checksum: string }[]>`
    select name, checksum from public.schema_migrations order by name`
  const next = nextMigration(migrations, done)
  if (next === undefined) return undefined
  await tx.unsafe(next.sql)
  await tx`insert into public.schema_migrations (name, checksum) values (${next.name}, ${next.checksum})`
  return next.name
}

/** Pure: what to apply next. Throws when the database's history is not a beginning of ours. */
export function nextMigration(
  ours: readonly Migration[],
  done: readonly { readonly name: string; readonly checksum: string }[],
): Migration | undefined {
  for (const [index, row] of done.entries()) {
    const migration = ours[index]
    if (migration === undefined || migration.name !== row.name)
      throw new Error(
        `the database has migration ${row.name}, which this version does not know in that place`,
      )
    if (migration.checksum !== row.checksum)
      throw new Error(`migration ${row.name} was applied with another content than it has now`)
  }
  return ours[done.length]
}
