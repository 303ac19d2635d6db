import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase, forTenant } from '@service/api/database'
import type { Database } from '@service/api/database'
import { startLinks } from '../../wire-proxy/links.ts'
import type { Links } from '../../wire-proxy/links.ts'
import { auditLedger, silent, TENANTS } from './ledger.ts'
import type { Findings } from './ledger.ts'
import type { DrillServer } from './server.ts'
import { startWriters } from './writers.ts'

export type Figures = Findings & {
  readonly name: string
  /** How many times the fault struck, and in which unit. */
  readonly faults: string
  readonly acknowledged: number
  readonly failed: number
  readonly unsettled: number
  /** Connections of the pool that cannot be used any more. */
  readonly lostSlots: number
  readonly recoveryMs: readonly number[]
}

export const RECOVERY_LIMIT_MS = 10_000
export const CLOSE_LIMIT_MS = 8_000

/** `broken` counts what the driver did not do during the faults that it has to do. */
type Struck = { readonly faults: string; readonly broken: number }

/** Writers at work while `strike` does its faults; then everything is counted. */
type Setting = {
  readonly name: string
  readonly writers: number
  readonly max: number
  /** Of a relay before the server. */
  readonly port?: number
  /** How long the server may say nothing; without it as in service. */
  readonly silenceMs?: number
}
export async function underWriters(
  server: DrillServer,
  { name, writers: count, max, port, silenceMs }: Setting,
  strike: (untilAllWrite: () => Promise<void>) => Promise<Struck>,
): Promise<Figures> {
  const db = open(server, max, port, silenceMs)
  const writers = startWriters(db, count)
  const recoveryMs: number[] = []
  let stuck = 0
  const untilAllWrite = async (): Promise<void> => {
    const ms = await writers.untilAllWrite(RECOVERY_LIMIT_MS)
    if (ms === null) stuck += 1
    else recoveryMs.push(ms)
  }
  await untilAllWrite()
  recoveryMs.length = 0
  const { faults, broken } = await strike(untilAllWrite)
  await writers.stop()
  const lostSlots = max - (await usableSlots(db, max))
  const unclosed = (await within(db.close(), CLOSE_LIMIT_MS)) ? 0 : 1
  const { acknowledged } = writers
  return {
    name,
    faults,
    acknowledged: acknowledged.length,
    failed: writers.failed(),
    unsettled: writers.unsettled() + stuck + broken + unclosed,
    lostSlots,
    recoveryMs,
    ...(await auditLedger(server.superuserUrl(), acknowledged)),
  }
}

export function open(server: DrillServer, max: number, port?: number, silenceMs?: number): Database {
  const at = (text: string): string => {
    const url = new URL(text)
    if (port !== undefined) url.port = String(port)
    return url.href
  }
  const { app, mssp } = server.urls()
  const silence = silenceMs === undefined ? {} : { silenceMs: { app: silenceMs, mssp: silenceMs } }
  return createDatabase({ appUrl: at(app), msspUrl: at(mssp), max, log: silent, ...silence })
}

/** How many backends the pool can hold at once. The first round only wakes the connections. */
export async function usableSlots(db: Database, max: number): Promise<number> {
  const holdAll = (seconds: number) =>
    Promise.all(
      Array.from({ length: max }, async () => {
        const held = forTenant(db, TENANTS[0] ?? '', async ({ sql }) => {
          const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
          await sql`select pg_sleep(${seconds})`
          return row?.pid
        }).catch(() => undefined)
        return Promise.race([held, sleep(RECOVERY_LIMIT_MS, undefined, { ref: false })])
      }),
    )
  await holdAll(0.1)
  const pids = await holdAll(0.4)
  return new Set(pids.filter((pid) => pid !== undefined)).size
}

export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  const done = work.then(
    () => true,
    () => true,
  )
  return Promise.race([done, sleep(ms, false, { ref: false })])
}

/** A case that does something to the connections on their way. */
export async function throughRelay(
  server: DrillServer,
  work: (links: Links) => Promise<Figures>,
): Promise<Figures> {
  const links = await startLinks(server.port())
  try {
    return await work(links)
  } finally {
    await links.close()
  }
}
