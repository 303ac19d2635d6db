import { setTimeout as sleep } from 'node:timers/promises'
import { generateAlerts, loadAlerts } from '../../alerts/index.ts'
import { GUIDE_TENANT } from '../../kind/layout.ts'
import { until } from '../crash/tenants.ts'
import type { KindDrill } from './world.ts'

const BATCH = 10
const PAUSE_MS = 200

/** Alerts that come without end, as from a manager that tries again until its indexer has taken them. */
export type Load = {
  /** Ids of all that the indexer has taken. */
  readonly given: ReadonlySet<string>
  /** Resolves with the ids of the next batch that the indexer takes. */
  next(): Promise<readonly string[]>
  stop(): Promise<void>
}

export function startLoad(drill: KindDrill): Load {
  const given = new Set<string>()
  let waiting: ((ids: readonly string[]) => void)[] = []
  const ending = new AbortController()
  const give = async (batch: number): Promise<void> => {
    const alerts = generateAlerts({ count: BATCH, seed: batch, until: new Date(), minutes: 0.01 })
    const numbered = alerts.map((alert, index) => ({ ...alert, id: `${batch}.${index}` }))
    await until('the indexer to take alerts', async () => {
      await loadAlerts(drill.kind.connection.indexer_url, GUIDE_TENANT, numbered)
      return true
    })
    const ids = numbered.map(({ id }) => id)
    for (const id of ids) given.add(id)
    for (const tell of waiting) tell(ids)
    waiting = []
  }
  const run = async (): Promise<void> => {
    for (let batch = 1; !ending.signal.aborted; batch += 1) {
      await give(batch)
      await sleep(PAUSE_MS)
    }
  }
  const done = run()
  done.catch(() => undefined)
  return {
    given,
    next: () =>
      Promise.race([new Promise<readonly string[]>((tell) => waiting.push(tell)), done.then(() => [])]),
    stop: async () => {
      ending.abort()
      await done
    },
  }
}

const storedIds = async ({ sql, tenantId }: KindDrill): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select payload ->> 'source_event_id' as id from events
    where tenant_id = ${tenantId} and kind = 'event.ingested'`
  return rows.map(({ id }) => id)
}

/** Waits until these have come through adapter and API into the database. */
export const untilStored = (drill: KindDrill, ids: Iterable<string>, timeoutMs = 300_000): Promise<true> =>
  until(
    'alerts to be stored',
    async () => {
      const stored = new Set(await storedIds(drill))
      return [...ids].every((id) => stored.has(id))
    },
    timeoutMs,
  )

export type Ledger = {
  readonly given: number
  readonly lost: number
  readonly doubled: number
  readonly foreign: number
}

export async function settle(drill: KindDrill, load: Load): Promise<Ledger> {
  await load.stop()
  await untilStored(drill, load.given).catch(() => undefined)
  // What would come a second time has come: the adapter has looked again.
  await sleep(15_000)
  const stored = await storedIds(drill)
  const once = new Set(stored)
  return {
    given: load.given.size,
    lost: [...load.given].filter((id) => !once.has(id)).length,
    doubled: stored.length - once.size,
    foreign: [...once].filter((id) => !load.given.has(id)).length,
  }
}
