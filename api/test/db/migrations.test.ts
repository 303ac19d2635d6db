import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { withConnection } from '../../src/db/connection.ts'
import { checkDatabase, createDatabase, migrationsCurrent } from '../../src/db/database.ts'
import { ensureRoles, migrate, nextMigration } from '../../src/db/migrate.ts'
import { readMigrations } from '../../src/db/migrations.ts'
import { silent } from '../../src/log.ts'

let template: TestDatabase
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  template = await createTestDatabase('migrations')
})
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup()
  await template.drop()
})

/** A database as the bootstrap superuser leaves it: roles, no tables. */
async function emptyDatabase(name: string): Promise<{ admin: string; app: string; mssp: string }> {
  const database = `${name}_${Date.now()}`
  const password = (url: string) => new URL(url).password
  const { admin, app, mssp } = template.urls
  const passwords = { admin: password(admin), app: password(app), mssp: password(mssp) }
  await ensureRoles({ superuserUrl: template.superuserUrl, database, passwords })
  cleanups.push(() =>
    withConnection(template.superuserUrl, 'test', (sql) => sql`drop database ${sql(database)} with (force)`),
  )
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  return { admin: at(admin), app: at(app), mssp: at(mssp) }
}

describe('migrate', () => {
  test('brings an empty database forward once, then does nothing', async () => {
    const urls = await emptyDatabase('twice')
    const db = createDatabase({ appUrl: urls.app, msspUrl: urls.mssp, max: 1, log: silent })
    cleanups.unshift(() => db.close())
    expect(await migrationsCurrent(db)).toBe(false)
    const names = (await readMigrations()).map((migration) => migration.name)
    expect(await migrate({ adminUrl: urls.admin, log: silent })).toEqual({ applied: names })
    expect(await migrate({ adminUrl: urls.admin, log: silent })).toEqual({ applied: [] })
    expect(await migrationsCurrent(db)).toBe(true)
    await checkDatabase(db)
  })

  test('applies each migration once when six init steps start together', async () => {
    const urls = await emptyDatabase('together')
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => migrate({ adminUrl: urls.admin, log: silent })),
    )
    const applied = runs.flatMap((run) => run.applied)
    expect(applied.toSorted()).toEqual((await readMigrations()).map((migration) => migration.name))
  })

  test('refuses a database whose applied migration has another content, and changes nothing', async () => {
    const urls = await emptyDatabase('drift')
    await migrate({ adminUrl: urls.admin, log: silent })
    await withConnection(
      urls.admin,
      'test',
      (sql) => sql`update schema_migrations set checksum = 'x' where name like '0001%'`,
    )
    await expect(migrate({ adminUrl: urls.admin, log: silent })).rejects.toThrow(
      /0001_isolation.*another content/,
    )
    const db = createDatabase({ appUrl: urls.app, msspUrl: urls.mssp, max: 1, log: silent })
    cleanups.unshift(() => db.close())
    expect(await migrationsCurrent(db)).toBe(false)
  })

  test('refuses the roles in each other’s place', async () => {
    const { app, mssp } = template.urls
    const db = createDatabase({ appUrl: mssp, msspUrl: app, max: 1, log: silent })
    cleanups.unshift(() => db.close())
    await expect(checkDatabase(db)).rejects.toThrow(/must not bypass/)
  })
})

describe('nextMigration', () => {
  const a = { name: '0000_a', checksum: '1', sql: '' }
  const b = { name: '0001_b', checksum: '2', sql: '' }

  test('goes on where the database stopped', () => {
    expect(nextMigration([a, b], [])).toBe(a)
    expect(nextMigration([a, b], [a])).toBe(b)
    expect(nextMigration([a, b], [a, b])).toBeUndefined()
  })

  test('refuses a newer database, and a history that is not ours', () => {
    expect(() => nextMigration([a], [a, b])).toThrow(/0001_b/)
    expect(() => nextMigration([a, b], [b])).toThrow(/0001_b/)
    expect(() => nextMigration([a], [{ name: '0000_a', checksum: '9' }])).toThrow(/another content/)
  })
})

test('the documented roles are the ones that we create ourselves', async () => {
  const ours = await readFile(new URL('../../src/db/roles.sql', import.meta.url), 'utf8')
  const documented = await readFile(new URL('../../../docs/database-roles.sql', import.meta.url), 'utf8')
  expect(documented).toBe(ours)
})
