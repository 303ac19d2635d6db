import { drizzle } from 'drizzle-orm/postgres-js'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import type { Clock } from '@service/domain'
import type { TransactionSql } from './connection.ts'
import type { Database } from './database.ts'
import { isConnectionLost, PoolTimeoutError, withoutParameters } from './errors.ts'
import { writeSystemEnter } from './audit.ts'

/** drizzle's query builder; transactions are the doors' business. */
export type Query = Omit<PostgresJsDatabase<Record<string, unknown>>, 'transaction' | '$client'>

/**
 * One open transaction. `sql` templates are prepared, for hot paths; `q` is drizzle on the same connection. Neither
 * may be used after the callback has returned. An error inside fails the whole transaction, even when it is caught.
 */
export type Tx = {
  readonly sql: TransactionSql
  readonly q: Query
  /** Which role runs it; decides how an audit row without a tenant is written. */
  readonly role: 'app' | 'mssp'
  readonly clock: Clock
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The rows of one tenant and no others: the application role, with the tenant set for this transaction. */
export function forTenant<T>(db: Database, tenantId: string, fn: (tx: Tx) => Promise<T>): Promise<T> {
  if (!UUID.test(tenantId)) return Promise.reject(new TypeError('a tenant id is a lower-case UUID'))
  return run(db, 'app', '', async (tx) => {
    await enterTenant(tx, tenantId)
    return fn(tx)
  })
}

/** What belongs to the install, and the functions for logins and sessions: the application role, no tenant set. */
export function asInstall<T>(db: Database, fn: (tx: Tx) => Promise<T>): Promise<T> {
  return run(db, 'app', '', fn)
}

/** The scope that a row's `tenant_id` names: of a tenant, or of the install. */
export function inScopeOf<T>(db: Database, tenantId: string | null, fn: (tx: Tx) => Promise<T>): Promise<T> {
  return tenantId === null ? asInstall(db, fn) : forTenant(db, tenantId, fn)
}

/** Narrows an install transaction to one tenant, for the audit row of a user who was found a moment ago. */
export async function enterTenant(tx: Tx, tenantId: string): Promise<void> {
  await tx.sql`select pg_catalog.set_config('app.current_tenant_id', ${tenantId}, true)`
}

export type SystemOptions = {
  /** A loop enters thousands of times: its audit row is written once an hour for each reason (decision 7). */
  readonly loop?: boolean
}
const LOOP_MS = 60 * 60_000

/** All tenants' rows, for code without a user behind it; the reason stands in the audit log, in this transaction. */
export async function asSystem<T>(
  db: Database,
  reason: string,
  fn: (tx: Tx) => Promise<T>,
  options: SystemOptions = {},
): Promise<T> {
  const last = db.lastRuns.get(`enter ${reason}`)
  const entering = performance.now()
  const known = options.loop === true && last !== undefined && entering - last < LOOP_MS
  const result = await run(db, 'mssp', '', async (tx) => {
    if (!known) await writeSystemEnter(tx, reason)
    return fn(tx)
  })
  if (!known) db.lastRuns.set(`enter ${reason}`, entering)
  return result
}

/** All tenants' rows, to read only: for MSSP users, after the guard has let them through. */
export function asReader<T>(db: Database, fn: (tx: Tx) => Promise<T>): Promise<T> {
  return run(db, 'mssp', 'read only', fn)
}

/**
 * Gives up when no connection becomes free in time: the callback then never runs. Once it runs, the roles' own
 * time-outs end what takes too long.
 */
async function run<T>(
  db: Database,
  role: Tx['role'],
  mode: '' | 'read only',
  fn: (tx: Tx) => Promise<T>,
): Promise<T> {
  let began = false
  let gaveUp = false
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      if (began) return
      gaveUp = true
      reject(new PoolTimeoutError(db.acquireMs))
    }, db.acquireMs)
  })
  const begin = () =>
    db[role].begin(mode, (connection) => {
      if (gaveUp) throw new PoolTimeoutError(db.acquireMs)
      began = true
      return fn(transactionOf(connection, role, db.clock))
    }) as Promise<T>
  // A connection of the pool may have ended unseen: as nothing has begun on it, another one serves.
  const work = begin().catch((error: unknown) => {
    if (began || gaveUp || !isConnectionLost(error)) throw error
    return begin()
  })
  try {
    return await Promise.race([work, late])
  } catch (error) {
    throw withoutParameters(error)
  } finally {
    clearTimeout(timer)
  }
}

/** What the doors hand out; exported for the init step, which has a connection of its own. */
export function transactionOf(sql: TransactionSql, role: Tx['role'], clock: Clock): Tx {
  let query: Query | undefined
  return {
    sql,
    role,
    clock,
    get q() {
      query ??= queryBuilder(sql)
      return query
    },
  }
}

/** drizzle changes the parsers of the client that it is given: it gets a client without any, ours stay as they are. */
function queryBuilder(sql: TransactionSql): Query {
  const client = Object.assign(sql, { options: { parsers: {}, serializers: {} } })
  return drizzle(client as unknown as postgres.Sql)
}
