import { systemClock } from '../clock.ts'
import type { Clock } from '@service/domain'
import type { Log } from '../log.ts'
import { connect } from './connection.ts'
import type { Sql } from './connection.ts'
import { probeDriver } from './driver.ts'
import { readMigrations } from './migrations.ts'

/** Two pools, one for each runtime role. Only the files of this folder query them; others go through scope.ts. */
export type Database = {
  readonly app: Sql
  readonly mssp: Sql
  readonly log: Log
  readonly clock: Clock
  /** How long a transaction waits for a connection. */
  readonly acquireMs: number
  /** When something that is not done each time was last done, on the monotonic clock. */
  readonly lastRuns: Map<string, number>
  close(): Promise<void>
}

export type DatabaseOptions = {
  readonly appUrl: string
  readonly msspUrl: string
  /** Connections of each pool. */
  readonly max?: number
  readonly log: Log
  /** For the ids of audit rows; their timestamps are the database's. */
  readonly clock?: Clock
  readonly acquireMs?: number
  /** How long the server may say nothing on a connection before it is given up, by role. */
  readonly silenceMs?: Readonly<Record<'app' | 'mssp', number>>
}

const ACQUIRE_MS = 10_000
/** Longer than the statement time-outs of the roles: until then silence may be work. */
export const SILENCE_MS = { app: 20_000, mssp: 35_000 } as const

/** Connects nothing yet; throws when the loaded driver lacks the project's patch. */
export function createDatabase({
  appUrl,
  msspUrl,
  max = 10,
  log,
  clock = systemClock,
  silenceMs = SILENCE_MS,
  acquireMs = ACQUIRE_MS,
}: DatabaseOptions): Database {
  const app = connect(appUrl, { max, applicationName: 'service-api', silenceMs: silenceMs.app })
  const mssp = connect(msspUrl, { max, applicationName: 'service-api-mssp', silenceMs: silenceMs.mssp })
  return {
    app,
    mssp,
    log,
    clock,
    acquireMs,
    lastRuns: new Map(),
    close: async () => {
      await Promise.all([app.end({ timeout: 5 }), mssp.end({ timeout: 5 })])
    },
  }
}

let driverProbe: Promise<void> | undefined

/** Both roles answer, and are what they should be; the first call also tries the driver itself. */
export async function checkDatabase(db: Database): Promise<void> {
  await (driverProbe ??= probeDriver())
  const bypasses = async (sql: Sql): Promise<boolean | undefined> => {
    const rows = await sql<{ bypass: boolean }[]>`
      select rolbypassrls or rolsuper as bypass from pg_catalog.pg_roles where rolname = current_user`
    return rows[0]?.bypass
  }
  const [app, mssp] = await Promise.all([bypasses(db.app), bypasses(db.mssp)])
  if (app !== false) throw new Error('the application role must not bypass row-level security')
  if (mssp !== true) throw new Error('the cross-tenant role must bypass row-level security')
}

/** True when everything that this version needs has been applied; a newer database is fine while an upgrade rolls. */
export async function migrationsCurrent(db: Database): Promise<boolean> {
  const known = await readMigrations()
  const rows = await db.app<{ name: string; checksum: string }[]>`
    select name, checksum from public.schema_migrations`.catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const applied = new Map(rows.map((row) => [row.name, row.checksum]))
  return known.every((migration) => applied.get(migration.name) === migration.checksum)
}

/** No table yet, or no right to read it yet. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '42P01' || error.code === '42501')
