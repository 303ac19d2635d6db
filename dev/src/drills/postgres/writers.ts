import { setTimeout as sleep } from 'node:timers/promises'
import { TENANTS } from './ledger.ts'
import type { Acknowledged } from './ledger.ts'
import { events, forTenant, PoolTimeoutError } from '@service/api/database'
import type { Database, Tx } from '@service/api/database'

/** How a writer goes through its transaction; each has been the one that a fault hit hardest. */
const HABITS = ['plain', 'thinking', 'parallel', 'drizzle', 'swallowing', 'slow'] as const
type Habit = (typeof HABITS)[number]

/** After the faults every transaction has so long to settle. */
const SETTLE_MS = 12_000

export type Writers = {
  readonly acknowledged: readonly Acknowledged[]
  failed(): number
  /** Begun but not settled, and given up because no connection came free although the server was there. */
  unsettled(): number
  /**
   * Waits until each writer has had a transaction, begun after now, acknowledged. Tells when all but the slow ones had,
   * in milliseconds from now, or null when the limit passes.
   */
  untilAllWrite(limitMs: number): Promise<number | null>
  /** Ends them and waits for what is in flight. */
  stop(): Promise<void>
}

type Writer = { readonly habit: Habit; readonly tenant: string; wroteAt: number; busy: boolean }

/** Many writers of several tenants, of all habits, over one pool, until they are stopped. */
export function startWriters(db: Database, count: number): Writers {
  const acknowledged: Acknowledged[] = []
  const stop = new AbortController()
  const stopping = stop.signal
  let failed = 0
  let starved = 0
  let openCallbacks = 0
  const writers = Array.from({ length: count }, (_, index): Writer => ({
    habit: HABITS[index % HABITS.length] ?? 'plain',
    tenant: TENANTS[index % TENANTS.length] ?? '',
    wroteAt: 0,
    busy: false,
  }))
  const writeOnce = async (writer: Writer): Promise<boolean> => {
    const txn = crypto.randomUUID()
    const begunAt = performance.now()
    writer.busy = true
    try {
      await forTenant(db, writer.tenant, async (tx) => {
        openCallbacks += 1
        await write(tx, writer.habit, writer.tenant, txn).finally(() => (openCallbacks -= 1))
      })
      acknowledged.push({ txn, rows: 2, event: writer.habit === 'drizzle' })
      writer.wroteAt = begunAt
      return true
    } catch (error) {
      if (error instanceof PoolTimeoutError) starved += 1
      failed += 1
      return false
    } finally {
      writer.busy = false
    }
  }
  const loops = writers.map(async (writer) => {
    while (!stopping.aborted) {
      if (!(await writeOnce(writer))) await sleep(20)
    }
  })
  return {
    acknowledged,
    failed: () => failed,
    unsettled: () => starved + Math.max(openCallbacks, writers.filter((each) => each.busy).length),
    untilAllWrite: async (limitMs) => {
      const from = performance.now()
      let recoveryMs: number | null = null
      for (;;) {
        const waiting = writers.filter((each) => each.wroteAt < from)
        const now = performance.now() - from
        if (recoveryMs === null && waiting.every(({ habit }) => habit === 'slow')) recoveryMs = now
        if (waiting.length === 0) return recoveryMs
        if (now > limitMs) return null
        await sleep(5)
      }
    },
    stop: async () => {
      stop.abort()
      await Promise.race([Promise.all(loops), sleep(SETTLE_MS, undefined, { ref: false })])
    },
  }
}

const think = (ms: number): Promise<void> => sleep(Math.random() * ms)

async function write(tx: Tx, habit: Habit, tenant: string, txn: string): Promise<void> {
  const row = (n: number) =>
    tx.sql`insert into public.drill_rows (txn, n, tenant) values (${txn}, ${n}, ${tenant})`
  if (habit === 'parallel') {
    await Promise.all([row(1), row(2)])
  } else if (habit === 'drizzle') {
    await row(1)
    await tx.q.insert(events).values(eventOf(tenant, txn))
    await row(2)
  } else if (habit === 'swallowing') {
    await row(1).catch(() => undefined)
    await think(15)
    await row(2).catch(() => undefined)
  } else if (habit === 'slow') {
    await row(1)
    // Longer than a reconnect: when it speaks again, its dead connection may serve another transaction.
    await sleep(150 + Math.random() * 300)
    await row(2)
  } else {
    const ms = habit === 'thinking' ? 30 : 0
    if (ms > 0) await think(ms)
    await row(1)
    if (ms > 0) await think(ms)
    await row(2)
    if (ms > 0) await think(ms)
  }
}

const eventOf = (tenantId: string, txn: string): typeof events.$inferInsert => ({
  id: crypto.randomUUID(),
  tenantId,
  aggregateType: 'drill',
  aggregateId: txn,
  seq: 1,
  kind: 'drill.written',
  payload: { txn },
  idempotencyKey: txn,
})
