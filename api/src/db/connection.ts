import postgres from 'postgres'
import { assertPatchedDriver } from './driver.ts'
import { silenceEndingSockets } from './sockets.ts'

/**
 * JSON is written from objects by our templates and as finished text by drizzle; what is a string is taken as JSON
 * text. Counts and revisions are numbers: nothing here comes near 2^53.
 */
const TYPES = {
  json: {
    to: 3802,
    from: [114, 3802],
    serialize: (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value)),
    parse: (text: string): unknown => JSON.parse(text),
  },
  bigint: {
    to: 20,
    from: [20],
    serialize: (value: number | string): string => String(value),
    parse: (text: string): number => Number(text),
  },
}

export type Sql = postgres.Sql<{ json: unknown; bigint: number }>
export type TransactionSql = postgres.TransactionSql<{ json: unknown; bigint: number }>

export type ConnectOptions = {
  readonly max: number
  readonly applicationName: string
  /** Ends a connection on which nothing has come for so long; absent where a statement may take any time. */
  readonly silenceMs?: number
}

/** A pool with the options that the patched driver was measured with. Refuses to run without the patch. */
export function connect(url: string, { max, applicationName, silenceMs }: ConnectOptions): Sql {
  const options = {
    max,
    backoff: () => 0.1 + Math.random() * 0.1,
    connect_timeout: 5,
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: applicationName },
    types: TYPES,
    ...(silenceMs === undefined ? {} : { socket: silenceEndingSockets(silenceMs) }),
  }
  const sql: Sql = postgres(url, options)
  assertPatchedDriver(sql)
  return sql
}

/** One connection for a piece of work, closed whatever happens. */
export async function withConnection<T>(
  url: string,
  applicationName: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const sql = connect(url, { max: 1, applicationName })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
