import { setTimeout as sleep } from 'node:timers/promises'
import { forTenant, withConnection } from '@service/api/database'
import type { Tx } from '@service/api/database'
import type { Link } from '../../wire-proxy/links.ts'
import {
  CLOSE_LIMIT_MS,
  open,
  RECOVERY_LIMIT_MS,
  throughRelay,
  underWriters,
  usableSlots,
  within,
} from './bench.ts'
import type { Figures } from './bench.ts'
import { auditLedger, TENANTS } from './ledger.ts'
import type { Acknowledged } from './ledger.ts'
import type { DrillServer } from './server.ts'

/** The server dies as if its power were cut, and comes back. */
export function restarts(server: DrillServer, times: number): Promise<Figures> {
  return underWriters(server, { name: 'restarts', writers: 16, max: 10 }, async (untilAllWrite) => {
    for (let done = 0; done < times; done += 1) {
      await server.restart()
      await untilAllWrite()
      await sleep(200 + Math.random() * 400)
    }
    return { faults: `${times} restarts`, broken: 0 }
  })
}

/** Backends are ended while they work or wait in a transaction. */
export function kills(server: DrillServer, times: number): Promise<Figures> {
  return underWriters(server, { name: 'kills', writers: 10, max: 4 }, async (untilAllWrite) => {
    let killed = 0
    let idle = 0
    await withConnection(server.superuserUrl(), 'drill', async (sql) => {
      const giveUpAt = performance.now() + times * 300
      while (killed < times && performance.now() < giveUpAt) {
        const rows = await sql<{ state: string; killed: boolean }[]>`
          select state, pg_terminate_backend(pid) as killed from (
            select pid, state from pg_stat_activity
            where application_name = 'service-api' and state in ('active', 'idle in transaction')
            order by random() limit 1) as victim`
        if (rows[0]?.killed === true) killed += 1
        if (rows[0]?.state === 'idle in transaction') idle += 1
        await sleep(5 + Math.random() * 25)
      }
    })
    await untilAllWrite()
    // Too few were found at work: the pool has stopped working.
    return { faults: `${killed} kills (${idle} between two statements)`, broken: times - killed }
  })
}

/** Connections are reset on their way. */
export function resets(server: DrillServer, times: number): Promise<Figures> {
  return throughRelay(server, (links) =>
    underWriters(server, { name: 'resets', writers: 10, max: 4, port: links.port }, async (untilAllWrite) => {
      const giveUpAt = performance.now() + times * 300
      let done = 0
      while (done < times && performance.now() < giveUpAt) {
        const open: Link[] = []
        links.each((link) => open.push(link))
        const victim = open[Math.floor(Math.random() * open.length)]
        if (victim !== undefined) {
          victim.reset()
          done += 1
        }
        await sleep(10 + Math.random() * 20)
      }
      await untilAllWrite()
      return { faults: `${done} resets`, broken: times - done }
    }),
  )
}

/** What the server may say nothing for in `partitions`: shorter than in service, as are the writers' statements. */
const SILENCE_MS = 2_000

/** For a while no packet passes, without any RST, and the connections of before never come back. */
export function partitions(server: DrillServer, times: number): Promise<Figures> {
  return throughRelay(server, (links) =>
    underWriters(
      server,
      { name: 'partitions', writers: 10, max: 10, port: links.port, silenceMs: SILENCE_MS },
      async (untilAllWrite) => {
        for (let done = 0; done < times; done += 1) {
          const lost: Link[] = []
          links.setMode('blackhole')
          links.each((link) => {
            link.freeze()
            lost.push(link)
          })
          await sleep(1_000 + Math.random() * 4_000)
          links.setMode('pass')
          await untilAllWrite()
          // The server, too, gives its lost clients up one day, and with them the locks that they hold.
          for (const link of lost) link.reset()
        }
        return { faults: `${times} partitions`, broken: 0 }
      },
    ),
  )
}

/** For a while something accepts connections and closes them at once, as a balancer without a server behind it. */
export function refusals(server: DrillServer, ms: number): Promise<Figures> {
  return throughRelay(server, (links) =>
    underWriters(
      server,
      { name: 'refusals', writers: 10, max: 4, port: links.port },
      async (untilAllWrite) => {
        const before = links.acceptedAt.length
        links.setMode('close')
        links.each((link) => link.reset())
        await sleep(ms)
        const connects = links.acceptedAt.length - before
        links.setMode('pass')
        await untilAllWrite()
        // Ten a second for each of four connections, and some of the start.
        const tooMany = connects > (ms / 1_000) * 40 + 20
        return { faults: `${ms} ms, ${connects} connects`, broken: tooMany ? connects : 0 }
      },
    ),
  )
}

/**
 * A transaction whose backend was killed speaks again when its one connection has been made anew and serves another
 * tenant's transaction: what it says must not be heard there.
 */
export async function strays(server: DrillServer, times: number): Promise<Figures> {
  const db = open(server, 1)
  const acknowledged: Acknowledged[] = []
  let heard = 0
  const [tenant = '', another = ''] = TENANTS
  const write = ({ sql }: Tx, txn: string, of: string, n: number) =>
    sql`insert into public.drill_rows (txn, n, tenant) values (${txn}, ${n}, ${of})`
  const once = async (): Promise<void> => {
    const speak = Promise.withResolvers<void>()
    const spoken = Promise.withResolvers<void>()
    await forTenant(db, tenant, async (tx) => {
      const [row] = await tx.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      await withConnection(server.superuserUrl(), 'drill', async (sql) => {
        await sql`select pg_terminate_backend(${row?.pid ?? 0})`
      })
      await speak.promise
      await write(tx, crypto.randomUUID(), tenant, 1).then(
        () => (heard += 1),
        () => undefined,
      )
      spoken.resolve()
    }).catch(() => undefined)
    const txn = crypto.randomUUID()
    await forTenant(db, another, async (tx) => {
      await write(tx, txn, another, 1)
      speak.resolve()
      await spoken.promise
      await write(tx, txn, another, 2)
    })
    acknowledged.push({ txn, rows: 2, event: false })
  }
  let done = 0
  while (done < times && (await within(once(), RECOVERY_LIMIT_MS))) done += 1
  const lostSlots = 1 - (await usableSlots(db, 1))
  const unclosed = (await within(db.close(), CLOSE_LIMIT_MS)) ? 0 : 1
  return {
    name: 'strays',
    faults: `${done} dead transactions that speak`,
    acknowledged: acknowledged.length,
    failed: done,
    unsettled: 2 * times - done - acknowledged.length + heard + unclosed,
    lostSlots,
    recoveryMs: [],
    ...(await auditLedger(server.superuserUrl(), acknowledged)),
  }
}

/** What the driver sends on one connection before it waits for answers. */
const PIPELINE = 100

/**
 * Statements outside transactions fill the one connection's pipeline to about its limit, a transaction begins there,
 * and more statements come behind it: they must not end up in that transaction.
 */
export async function pipeline(server: DrillServer, rounds: number): Promise<Figures> {
  const db = open(server, 1)
  const acknowledged: Acknowledged[] = []
  const begun: Promise<void>[] = []
  let settled = 0
  const plain = async (): Promise<void> => {
    const txn = crypto.randomUUID()
    // Sent at once: awaited only, it would come behind the transaction that begins after it.
    await db.app`insert into public.drill_rows (txn, n) values (${txn}, 1)`.execute()
    acknowledged.push({ txn, rows: 1, event: false })
  }
  const inTransaction = async (): Promise<void> => {
    const [txn, tenant = ''] = [crypto.randomUUID(), TENANTS[0]]
    await forTenant(db, tenant, async ({ sql }) => {
      for (const n of [1, 2]) {
        await sql`insert into public.drill_rows (txn, n, tenant) values (${txn}, ${n}, ${tenant})`
      }
    })
    acknowledged.push({ txn, rows: 2, event: false })
  }
  const begin = (work: () => Promise<void>): void => {
    begun.push(work().finally(() => (settled += 1)))
  }
  const startedAt = performance.now()
  // The first of its kind is prepared, which holds the pipeline up.
  await plain()
  for (let round = 0; round < rounds; round += 1) {
    for (let at = 0; at < PIPELINE - 5 + (round % 10); at += 1) begin(plain)
    begin(inTransaction)
    for (let at = 0; at < 20; at += 1) begin(plain)
    if (!(await within(Promise.allSettled(begun), RECOVERY_LIMIT_MS))) break
  }
  const recoveryMs = [performance.now() - startedAt]
  const lostSlots = 1 - (await usableSlots(db, 1))
  const unclosed = (await within(db.close(), CLOSE_LIMIT_MS)) ? 0 : 1
  const failed = settled + 1 - acknowledged.length
  return {
    name: 'pipeline',
    faults: `${rounds} rounds`,
    acknowledged: acknowledged.length,
    failed,
    // No fault strikes here: whoever fails has not been served.
    unsettled: begun.length - settled + failed + unclosed,
    lostSlots,
    recoveryMs,
    ...(await auditLedger(server.superuserUrl(), acknowledged)),
  }
}
