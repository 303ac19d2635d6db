import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { type Links, startLinks } from '../../../dev/src/wire-proxy/links.ts'
import { checkDatabase, createDatabase, type Database, SILENCE_MS } from '../../src/db/database.ts'
import { isUnavailable } from '../../src/db/errors.ts'
import { asInstall, asReader, forTenant } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'

const SILENCE = 1_000
/** What settles is told apart from what hangs by this; TCP would take a quarter of an hour. */
const SETTLED_MS = 15_000
const POOL = 3

let database: TestDatabase
let links: Links
let db: Database
const uncaught: unknown[] = []
const note = (error: unknown) => void uncaught.push(error)
beforeAll(async () => {
  database = await createTestDatabase('partition')
  process.on('uncaughtException', note).on('unhandledRejection', note)
})
afterAll(async () => {
  process.off('uncaughtException', note).off('unhandledRejection', note)
  await database.drop()
})
beforeEach(async () => {
  links = await startLinks(Number(new URL(database.urls.app).port))
  db = open(SILENCE)
})
afterEach(async () => {
  await db.close()
  await links.close()
  expect(uncaught).toEqual([])
})

function open(silenceMs: number): Database {
  const through = (url: string): string => Object.assign(new URL(url), { port: String(links.port) }).href
  return createDatabase({
    appUrl: through(database.urls.app),
    msspUrl: through(database.urls.mssp),
    max: POOL,
    log: silent,
    silenceMs: { app: silenceMs, mssp: silenceMs },
  })
}
/** As if a firewall dropped every packet and forgot the connections: no RST, no FIN, now and ever. */
function partition(): void {
  links.setMode('blackhole')
  links.each((link) => link.freeze())
}
const settled = (work: Promise<unknown>): Promise<unknown> =>
  Promise.race([
    work.then(
      () => 'done',
      (error: unknown) => error,
    ),
    sleep(SETTLED_MS, 'hangs', { ref: false }),
  ])
const work = (seconds: number) =>
  Array.from({ length: POOL }, () => forTenant(db, randomUUID(), (tx) => tx.sql`select pg_sleep(${seconds})`))

describe('a network that swallows everything', () => {
  test('what is under way and what comes fails as unavailable; the end of it ends the failures', async () => {
    await Promise.all([...work(0), asReader(db, (tx) => tx.sql`select 1`)])
    // One that waits for an answer, one between two statements; the third of the pool is idle.
    const asking = forTenant(db, randomUUID(), (tx) => tx.sql`select pg_sleep(1)`)
    const thinking = forTenant(db, randomUUID(), async (tx) => {
      await tx.sql`select 1`
      await sleep(1_000)
      await tx.sql`select 2`
    })
    await sleep(300)
    partition()
    const coming = [...work(0), checkDatabase(db)]
    const answers = await Promise.all([asking, thinking, ...coming].map(settled))
    for (const answer of answers) expect(answer).toSatisfy(isUnavailable)

    links.setMode('pass')
    const back = performance.now()
    while ((await settled(checkDatabase(db))) !== 'done') await sleep(50)
    await Promise.all([...work(0), asReader(db, (tx) => tx.sql`select 1`)])
    // A connection that is being made when the network comes back is one of those that are lost.
    expect(performance.now() - back).toBeLessThan(SETTLED_MS)
  }, 60_000)

  test('questions behind one that is not answered do not lengthen the wait', async () => {
    await checkDatabase(db)
    partition()
    const end = performance.now() + 3 * SILENCE
    const asked: Promise<unknown>[] = []
    while (performance.now() < end) {
      asked.push(db.app`select 1`.execute())
      asked.at(-1)?.catch(() => undefined)
      await sleep(100)
    }
    expect(await Promise.race([settled(asked[0] ?? Promise.resolve()), sleep(0, 'hangs')])).toSatisfy(
      isUnavailable,
    )
    links.setMode('pass')
    await Promise.all(asked.map(settled))
  }, 60_000)
})

describe('a network that is well', () => {
  test('lets an answer take its time, and a connection that was given up for silence is not noticed', async () => {
    await Promise.all(work(SILENCE / 2 / 1_000))
    const before = links.acceptedAt.length
    for (const end = performance.now() + 3 * SILENCE; performance.now() < end; await sleep(SILENCE / 2))
      await Promise.all(work(0))
    expect(links.acceptedAt.length).toBe(before)
    await sleep(SILENCE + 1_500)
    expect(links.open()).toBe(0)
    await Promise.all(work(0))
  })

  test('and a connection that was cut behind the pool’s back serves nobody, but harms nobody', async () => {
    await Promise.all(work(0))
    for (let round = 0; round < 8; round += 1) {
      links.each((link) => link.reset())
      // Sent before the pool can have heard of it.
      await Promise.all(work(0))
    }
  })

  test('is waited for longer than the roles let a statement work', async () => {
    const limit = (sql: Database['app']) => sql<{ ms: number }[]>`
      select setting::int as ms from pg_settings where name = 'statement_timeout'`
    for (const role of ['app', 'mssp'] as const) {
      const [row] = await limit(db[role])
      expect(row?.ms).toBeGreaterThan(0)
      expect(SILENCE_MS[role]).toBeGreaterThan(row?.ms ?? Infinity)
      // The server, for its part, gives up a client that is gone, whose locks would stay.
      const probes = await db[role]`
        select current_setting('tcp_keepalives_idle')::int as idle, current_setting('tcp_keepalives_count')::int as count`
      expect([...probes]).toEqual([{ idle: 15, count: 3 }])
    }
  })
})

test('an address that is refused at once is unavailable, and no more', async () => {
  const nowhere = 'postgres://nobody@127.0.0.1:0/nothing'
  const other = createDatabase({ appUrl: nowhere, msspUrl: nowhere, max: 1, log: silent })
  for (let round = 0; round < 3; round += 1)
    expect(await settled(asInstall(other, (tx) => tx.sql`select 1`))).toMatchObject({
      code: expect.stringMatching(/^E/),
    })
  await other.close()
})
