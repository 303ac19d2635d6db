import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { connect, withConnection } from '../../src/db/connection.ts'
import type { Sql, TransactionSql } from '../../src/db/connection.ts'
import { isForbidden } from '../../src/db/errors.ts'
import { isolatedTables, rowFor } from './rows.ts'

const A = randomUUID()
const B = randomUUID()
let database: TestDatabase
let tables: string[]

beforeAll(async () => {
  database = await createTestDatabase('isolation')
  await withConnection(database.superuserUrl, 'seed', async (sql) => {
    tables = await isolatedTables(sql)
    for (const tenant of [A, B])
      for (const table of tables) await sql`insert into ${sql(table)} ${sql(rowFor(table, tenant))}`
  })
})
afterAll(() => database.drop())

const CONTEXTS: Readonly<Record<string, (sql: Sql) => Promise<unknown>>> = {
  'never set': () => Promise.resolve(),
  'set, then committed': (sql) => sql.begin((tx) => setTenant(tx, A)),
  'rolled back': async (sql) => {
    const stop = new Error('stop')
    await sql
      .begin(async (tx) => {
        await setTenant(tx, A)
        throw stop
      })
      .catch((error: unknown) => {
        if (error !== stop) throw error
      })
  },
  empty: (sql) => sql`select set_config('app.current_tenant_id', '', false)`,
}
const setTenant = (tx: TransactionSql, tenant: string) =>
  tx`select set_config('app.current_tenant_id', ${tenant}, true)`

const keyOf = (table: string): string => (table === 'tenants' ? 'id' : 'tenant_id')
const OPERATIONS: Readonly<
  Record<string, (sql: TransactionSql, table: string) => PromiseLike<readonly unknown[]>>
> = {
  select: (sql, table) => sql`select 1 as touched from ${sql(table)}`,
  insert: (sql, table) =>
    sql`insert into ${sql(table)} ${sql(rowFor(table, table === 'tenants' ? randomUUID() : A))} returning 1 as touched`,
  update: (sql, table) =>
    sql`update ${sql(table)} set ${sql(keyOf(table))} = ${sql(keyOf(table))} returning 1 as touched`,
  delete: (sql, table) => sql`delete from ${sql(table)} returning 1 as touched`,
}

/** How many rows an operation touched, always rolled back; `forbidden` for 42501; other failures are failures. */
async function outcome(
  sql: Sql,
  table: string,
  work: (tx: TransactionSql, table: string) => PromiseLike<readonly unknown[]>,
): Promise<number | 'forbidden'> {
  const undo = new Error('undo')
  let rows: readonly unknown[] = []
  try {
    await sql.begin(async (tx) => {
      rows = await work(tx, table)
      throw undo
    })
  } catch (error) {
    if (isForbidden(error)) return 'forbidden'
    if (error !== undo) throw error
  }
  return rows.length
}

describe.each(['app', 'admin'] as const)('as service_%s, without a tenant', (role) => {
  test.each(Object.keys(CONTEXTS))(
    'context %s: no row is seen, made, changed or removed',
    async (context) => {
      const seen = { cells: 0, zero: 0, forbidden: 0 }
      await withConnection(database.urls[role], 'test', async (sql) => {
        await CONTEXTS[context]?.(sql)
        for (const table of tables)
          for (const [name, work] of Object.entries(OPERATIONS)) {
            const result = await outcome(sql, table, work)
            expect([0, 'forbidden'], `${name} on ${table}`).toContain(result)
            if (name === 'insert') expect(result, `insert on ${table}`).toBe('forbidden')
            seen.cells += 1
            seen[result === 0 ? 'zero' : 'forbidden'] += 1
          }
      })
      expect(seen.cells).toBe(tables.length * 4)
      console.log(`S1 service_${role}, ${context}: ${JSON.stringify(seen)} over ${tables.length} relations`)
    },
  )
})

describe('as service_app, with tenant A set', () => {
  let sql: Sql
  beforeAll(() => {
    sql = connect(database.urls.app, { max: 1, applicationName: 'test' })
  })
  afterAll(() => sql.end({ timeout: 5 }))

  test('exactly the own rows are seen, and the other tenant’s neither seen nor touched', async () => {
    for (const table of tables) {
      const key = keyOf(table)
      const counts = await sql.begin(async (tx) => {
        await setTenant(tx, A)
        const [all] = await tx<{ n: number }[]>`select count(*) as n from ${tx(table)}`
        const [foreign] = await tx<{ n: number }[]>`
          select count(*) as n from ${tx(table)} where ${tx(key)} = ${B}`
        return [all?.n, foreign?.n]
      })
      expect(counts, table).toEqual([1, 0])
      const inA =
        (work: (tx: TransactionSql) => PromiseLike<readonly unknown[]>) =>
        async (tx: TransactionSql): Promise<readonly unknown[]> => {
          await setTenant(tx, A)
          return work(tx)
        }
      const foreignId = table === 'tenants' ? randomUUID() : B
      const insert = inA(
        (tx) => tx`insert into ${tx(table)} ${tx(rowFor(table, foreignId))} returning 1 as x`,
      )
      const move = inA((tx) => tx`update ${tx(table)} set ${tx(key)} = ${B} returning 1 as x`)
      const touch = inA(
        (tx) => tx`update ${tx(table)} set ${tx(key)} = ${tx(key)} where ${tx(key)} = ${B} returning 1 as x`,
      )
      const remove = inA((tx) => tx`delete from ${tx(table)} where ${tx(key)} = ${B} returning 1 as x`)
      expect(await outcome(sql, table, insert), `insert into ${table}`).toBe('forbidden')
      expect(await outcome(sql, table, move), `move in ${table}`).toBe('forbidden')
      expect([0, 'forbidden'], `update ${table}`).toContain(await outcome(sql, table, touch))
      expect([0, 'forbidden'], `delete from ${table}`).toContain(await outcome(sql, table, remove))
    }
  })

  test('the matrix can fail: the superuser sees both tenants’ rows in every table', async () => {
    await withConnection(database.superuserUrl, 'test', async (superuser) => {
      for (const table of tables) {
        const [row] = await superuser<{ n: number }[]>`select count(*) as n from ${superuser(table)}`
        expect(row?.n, table).toBe(2)
      }
    })
  })
})

test.each(['app', 'mssp'] as const)('service_%s only adds to and reads append-only tables', async (role) => {
  await withConnection(database.urls[role], 'test', async (sql) => {
    const inA =
      (work: (tx: TransactionSql, table: string) => PromiseLike<readonly unknown[]>) =>
      async (tx: TransactionSql, table: string): Promise<readonly unknown[]> => {
        await setTenant(tx, A)
        return work(tx, table)
      }
    for (const table of ['audit_log', 'tenant_lifecycle_events', 'events']) {
      const update = inA((tx, name) => tx`update ${tx(name)} set id = id`)
      const remove = inA((tx, name) => tx`delete from ${tx(name)}`)
      const truncate = inA((tx, name) => tx`truncate ${tx(name)}`)
      const add = inA((tx, name) => tx`insert into ${tx(name)} ${tx(rowFor(name, A))} returning 1 as x`)
      expect(await outcome(sql, table, update)).toBe('forbidden')
      expect(await outcome(sql, table, remove)).toBe('forbidden')
      expect(await outcome(sql, table, truncate)).toBe('forbidden')
      expect(await outcome(sql, table, add)).toBe(1)
    }
  })
})

test.each(['app', 'mssp'] as const)('service_%s has no way to credentials but functions', async (role) => {
  await withConnection(database.urls[role], 'test', async (sql) => {
    for (const table of ['sessions', 'password_credentials', 'login_shadows', 'idempotency_keys'])
      expect(await outcome(sql, table, (tx, name) => tx`select 1 as x from ${tx(name)}`)).toBe('forbidden')
  })
})
