import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { asReader, asSystem, createDatabase, forTenant, withConnection } from '@service/api/database'
import type { Database, Tx } from '@service/api/database'
import { startTestPostgres } from '../postgres/test-server.ts'
import { inService, silent } from './postgres/ledger.ts'

/**
 * The isolation drill: many loops share a pool of two connections and change the tenant with each transaction, while
 * transactions throw, statements are cancelled and backends are killed. No statement may see or touch a row of
 * another tenant than its transaction's, and none any row when no tenant is set.
 */
export type IsolationFigures = {
  readonly transactions: number
  readonly committed: number
  readonly thrown: number
  readonly cancelled: number
  readonly broken: number
  readonly killed: number
  /** Rows of others that were seen or touched; has to be 0. */
  readonly foreign: number
  /** Transactions that did not see their own rows, or cross-tenant ones that did not see all; has to be 0. */
  readonly blind: number
  /** Rows that in the end carry another tenant's mark; has to be 0. */
  readonly crossed: number
}
type Tally = { -readonly [Name in keyof IsolationFigures]: IsolationFigures[Name] }

type Options = { readonly transactions: number; readonly loops?: number; readonly tenants?: number }

class Stop extends Error {}

export async function drillIsolation(options: Options): Promise<IsolationFigures> {
  const { transactions, loops = 64, tenants: count = 10 } = options
  const tenants = Array.from({ length: count }, () => crypto.randomUUID())
  const server = await startTestPostgres()
  const superuserUrl = inService(server.context.superuserUrl, server.urls.admin)
  const { app, mssp } = server.urls
  const db = createDatabase({ appUrl: app, msspUrl: mssp, max: 2, log: silent })
  const tally: Tally = {
    transactions: 0,
    committed: 0,
    thrown: 0,
    cancelled: 0,
    broken: 0,
    killed: 0,
    foreign: 0,
    blind: 0,
    crossed: 0,
  }
  const ended = new AbortController()
  try {
    await seed(superuserUrl, tenants)
    const killer = killBackends(superuserUrl, tally, ended.signal)
    const loop = async (): Promise<void> => {
      while (tally.transactions < transactions) {
        tally.transactions += 1
        await oneTransaction(db, tenants, tally)
      }
    }
    await Promise.all(Array.from({ length: loops }, loop))
    ended.abort()
    await killer
    tally.crossed = await crossedRows(superuserUrl)
    return tally
  } finally {
    ended.abort()
    await db.close()
    await server.stop()
  }
}

/** What must not happen, added up. */
export const leaksOf = ({ foreign, blind, crossed }: IsolationFigures): number => foreign + blind + crossed

async function seed(url: string, tenants: readonly string[]): Promise<void> {
  await withConnection(url, 'drill', async (sql) => {
    for (const [index, id] of tenants.entries()) {
      await sql`
        insert into public.tenants (id, slug, display_name, profile, placement, state, config)
        values (${id}, ${`drill-${index}`}, ${id}, 'pilot', 'cluster', 'active', '{}'::jsonb)`
      await sql`insert into public.branding_configs (tenant_id, app_name) values (${id}, ${id})`
    }
  })
}

async function oneTransaction(db: Database, tenants: readonly string[], tally: Tally): Promise<void> {
  try {
    if (Math.random() < 0.02) await lookAtAll(db, tenants.length, tally)
    else await workFor(db, tenants[Math.floor(Math.random() * tenants.length)] ?? '', tally)
    tally.committed += 1
  } catch (error) {
    if (error instanceof Stop) tally.thrown += 1
    else if (isCancelled(error)) tally.cancelled += 1
    else tally.broken += 1
  }
}

/** The bypass role shares nothing with the pool of tenants: what it has seen must not stay behind either. */
async function lookAtAll(db: Database, expected: number, tally: Tally): Promise<void> {
  const look = async ({ sql }: Tx): Promise<void> => {
    const rows = await sql`select id from public.tenants`
    if (rows.length !== expected) tally.blind += 1
  }
  await (Math.random() < 0.5 ? asReader(db, look) : asSystem(db, 'drill', look, { loop: true }))
}

async function workFor(db: Database, tenant: string, tally: Tally): Promise<void> {
  await forTenant(db, tenant, async ({ sql }) => {
    const seen = await sql<{ id: string }[]>`select id from public.tenants`
    tally.foreign += seen.filter(({ id }) => id !== tenant).length
    if (!seen.some(({ id }) => id === tenant)) tally.blind += 1
    const dice = Math.random()
    if (dice < 0.1) throw new Stop()
    if (dice < 0.13) await cancelled(sql`select pg_sleep(5)`)
    const touched = await sql<{ id: string }[]>`
      update public.branding_configs set app_name = ${tenant}, logo_url = ${`${dice}`} returning tenant_id as id`
    tally.foreign += touched.filter(({ id }) => id !== tenant).length
    if (touched.length === 0) tally.blind += 1
    if (dice > 0.9) throw new Stop()
  })
}

async function cancelled(query: PromiseLike<unknown> & { cancel(): void }): Promise<void> {
  const timer = setTimeout(() => query.cancel(), 2)
  try {
    await query
  } finally {
    clearTimeout(timer)
  }
}

const isCancelled = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '57014'

async function killBackends(url: string, tally: Tally, signal: AbortSignal): Promise<void> {
  await withConnection(url, 'drill', async (sql) => {
    while (!signal.aborted) {
      const rows = await sql<{ killed: boolean }[]>`
        select pg_terminate_backend(pid) as killed from (
          select pid from pg_stat_activity
          where application_name in ('service-api', 'service-api-mssp') order by random() limit 1) as victim`
      if (rows[0]?.killed === true) tally.killed += 1
      await sleep(100 + Math.random() * 300, undefined, { signal }).catch(() => undefined)
    }
  })
}

async function crossedRows(url: string): Promise<number> {
  return withConnection(url, 'drill', async (sql) => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from public.branding_configs where app_name <> tenant_id::text`
    return row?.n ?? 0
  })
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { transactions: { type: 'string', default: '100000' } } })
  const began = performance.now()
  const figures = await drillIsolation({ transactions: Number(values.transactions) })
  console.log(
    Object.entries(figures)
      .map(([name, n]) => `${n} ${name}`)
      .join(', '),
  )
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(leaksOf(figures) === 0 ? `no foreign row in ${seconds} s` : `rows have leaked`)
  process.exit(leaksOf(figures) === 0 ? 0 : 1)
}
