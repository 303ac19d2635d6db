import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { withConnection } from '../../src/db/connection.ts'
import { createDatabase } from '../../src/db/database.ts'
import { assertPatchedDriver, probeDriver } from '../../src/db/driver.ts'
import { isUnavailable } from '../../src/db/errors.ts'
import { forTenant } from '../../src/db/scope.ts'
import type { Tx } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'
import { rowFor } from './rows.ts'

describe('a driver without the patch is refused', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-driver-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A copy of the loaded driver with one part of the patch taken out again. */
  async function without(
    name: string,
    file: string,
    patched: string,
    original: string,
  ): Promise<typeof postgres> {
    const source = join(dirname(fileURLToPath(import.meta.resolve('postgres'))), '..')
    const copy = join(folder, name)
    await cp(source, copy, { recursive: true })
    const text = await readFile(join(copy, 'src', file), 'utf8')
    expect(text).toContain(patched)
    await writeFile(join(copy, 'src', file), text.replace(patched, original))
    const module = (await import(pathToFileURL(join(copy, 'src/index.js')).href)) as {
      default: typeof postgres
    }
    return module.default
  }

  test('the loaded one passes', async () => {
    assertPatchedDriver(postgres('postgres://nobody@probe.invalid/none'))
    await probeDriver()
  })

  test('without the part that ends lost transactions', async () => {
    const stock = await without('begin', 'index.js', 'if (lost)\n          return q.reject(lost)\n', '')
    await expect(probeDriver(stock)).rejects.toThrow(/lost transactions/)
    const older = await without('marker', 'index.js', 'queries.shift().reject(e)', 'queries.shift()')
    expect(() => assertPatchedDriver(older('postgres://nobody@probe.invalid/none'))).toThrow(/patch/)
  })

  test('without the part that answers when a connection closes at its beginning', async () => {
    const stock = await without('closed', 'connection.js', 'initial && options.host[retries + 1]', 'initial')
    await expect(probeDriver(stock)).rejects.toThrow(/closed connections/)
  })
})

describe('backends killed in the middle of transactions', () => {
  const KILLS = 30
  const WRITERS = 8
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase('drill')
  })
  afterAll(() => database.drop())

  test(`${KILLS} kills under ${WRITERS} writers on two tenants: nothing lost, mixed or stuck`, async () => {
    const uncaught: unknown[] = []
    const note = (error: unknown) => uncaught.push(error)
    process.on('uncaughtException', note).on('unhandledRejection', note)
    const db = createDatabase({ appUrl: database.urls.app, msspUrl: database.urls.mssp, max: 4, log: silent })
    const tenants = [randomUUID(), randomUUID()] as const
    for (const id of tenants)
      await forTenant(db, id, (tx) => tx.sql`insert into tenants ${tx.sql(rowFor('tenants', id))}`)

    const acknowledged: string[] = []
    const strange: unknown[] = []
    let failed = 0
    const stop = new AbortController()
    /** Two rows or none; with pauses, so that a backend can die between the statements. */
    const write = async (tx: Tx, tenant: string, batch: string, writer: number) => {
      for (const part of ['1', '2']) {
        if (writer % 2 === 0) await sleep(Math.random() * 10)
        const row = {
          ...rowFor('events', tenant),
          payload: JSON.stringify({ tenant }),
          idempotency_key: `${batch}-${part}`,
        }
        await tx.sql`insert into events ${tx.sql(row)}`
        if (writer % 4 === 1) await tx.sql`select pg_sleep(0.004)`
      }
    }
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const tenant = tenants[writer % 2] ?? tenants[0]
      while (!stop.signal.aborted) {
        const batch = randomUUID()
        try {
          await forTenant(db, tenant, (tx) => write(tx, tenant, batch, writer))
          acknowledged.push(batch)
        } catch (error) {
          failed += 1
          if (!isUnavailable(error)) strange.push(error)
        }
      }
    })
    const kills = await withConnection(database.superuserUrl, 'killer', async (sql) => {
      let done = 0
      while (done < KILLS) {
        const rows = await sql`
          select pg_terminate_backend(pid) from (
            select pid from pg_stat_activity
             where usename = 'service_app' and datname = current_database() and state in ('active', 'idle in transaction')
             order by random() limit 1) one`
        done += rows.length
        await sleep(20 + Math.random() * 40)
      }
      return done
    })
    stop.abort()
    await Promise.all(writers)
    await sleep(100)

    const rows = await withConnection(
      database.superuserUrl,
      'test',
      (sql) => sql<{ batch: string; parts: number; mixed: number }[]>`
        select left(idempotency_key, -2) as batch, count(*) as parts,
               count(*) filter (where payload ->> 'tenant' <> tenant_id::text) as mixed
          from events group by 1`,
    )
    const stored = new Map(rows.map((row) => [row.batch, row]))
    const figures = {
      kills,
      acknowledged: acknowledged.length,
      failed,
      uncaught: uncaught.length,
      strange: strange.length,
      mixed: rows.filter((row) => row.mixed > 0).length,
      torn: rows.filter((row) => row.parts !== 2).length,
      lost: acknowledged.filter((batch) => stored.get(batch)?.parts !== 2).length,
    }
    process.off('uncaughtException', note).off('unhandledRejection', note)
    await db.close()
    console.log(`driver drill: ${JSON.stringify(figures)}`)
    expect(failed).toBeGreaterThan(0)
    expect(acknowledged.length).toBeGreaterThan(20)
    expect(strange).toEqual([])
    expect(figures).toMatchObject({ kills: KILLS, uncaught: 0, strange: 0, mixed: 0, torn: 0, lost: 0 })
  })
})
