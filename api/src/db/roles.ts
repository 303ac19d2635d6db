import { readFile } from 'node:fs/promises'
import postgres from 'postgres'

export type RolePasswords = { readonly admin: string; readonly app: string; readonly mssp: string }
export type EnsureRolesOptions = {
  /** A superuser's, any database of the server. */
  readonly superuserUrl: string
  /** Created when absent. */
  readonly database: string
  readonly passwords: RolePasswords
}

/** What a customer's DBA does by hand with `docs/database-roles.sql`, for the databases that we start ourselves. */
export async function ensureRoles({ superuserUrl, database, passwords }: EnsureRolesOptions): Promise<void> {
  const statements = await readFile(new URL('roles.sql', import.meta.url), 'utf8')
  await withConnection(superuserUrl, (sql) => createDatabase(sql, database))
  const url = new URL(superuserUrl)
  url.pathname = `/${database}`
  await withConnection(url.href, async (sql) => {
    await sql.unsafe(statements)
    for (const name of ['admin', 'app', 'mssp'] as const)
      await sql.unsafe(`alter role service_${name} password ${quoted(passwords[name])}`)
  })
}

async function createDatabase(sql: postgres.Sql, database: string): Promise<void> {
  const found = await sql`select 1 from pg_catalog.pg_database where datname = ${database}`
  if (found.length > 0) return
  await sql`create database ${sql(database)} template template0 encoding 'UTF8'`.catch((error: unknown) => {
    const madeMeanwhile = error instanceof postgres.PostgresError && ['42P04', '23505'].includes(error.code)
    if (!madeMeanwhile) throw error
  })
}

/** ALTER ROLE takes no parameters. */
function quoted(password: string): string {
  if (!/^[\x20-\x7e]+$/.test(password)) throw new Error('a database password must be printable ASCII')
  return `E'${password.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

async function withConnection<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => undefined })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
