import { DrizzleQueryError } from 'drizzle-orm'
import postgres from 'postgres'

/** The driver's own failures: the connection ended, was never made, or the pool is closing. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
])
/** Of PostgreSQL: connection exceptions, shutting down, starting up, too many connections, out of resources. */
const UNAVAILABLE_STATES = /^(08|53|57P0[1-5]|58)/
/** A deadline of ours: a statement, a lock, an idle transaction. */
const DEADLINE_STATES = new Set(['57014', '55P03', '25P03', '25P04'])

/** No connection became free in time. */
export class PoolTimeoutError extends Error {
  override readonly name = 'PoolTimeoutError'
  constructor(ms: number) {
    super(`no database connection became free within ${ms} ms`)
  }
}

/** drizzle wraps what the driver throws in an error whose message repeats the query's parameters, secrets included. */
export function withoutParameters(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? (error.cause ?? new Error('a query failed')) : error
}

function innermost(error: unknown): unknown {
  let at = error
  for (
    let depth = 0;
    depth < 5 && at instanceof Error && !(at instanceof postgres.PostgresError);
    depth += 1
  ) {
    if (at.cause === undefined || at.cause === null) break
    at = at.cause
  }
  return at
}

function codeOf(error: unknown): string | undefined {
  const inner = innermost(error)
  const code = inner instanceof Error ? (inner as Error & { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** True for a duplicate key, of that constraint or unique index when one is named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const inner = innermost(error)
  if (!(inner instanceof postgres.PostgresError) || inner.code !== '23505') return false
  return constraint === undefined || inner.constraint_name === constraint
}

/** True when the role may not do this, or a policy refuses the row. */
export const isForbidden = (error: unknown): boolean => codeOf(error) === '42501'

/** True when the connection ended that this was sent on; what was sent may have been done. */
export const isConnectionLost = (error: unknown): boolean =>
  ['CONNECTION_CLOSED', 'ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '')

/** True when the database cannot work right now: the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (innermost(error) instanceof PoolTimeoutError) return true
  const code = codeOf(error)
  if (code === undefined) return false
  return CONNECTION_CODES.has(code) || UNAVAILABLE_STATES.test(code) || DEADLINE_STATES.has(code)
}
