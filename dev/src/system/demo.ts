import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Tenant } from '@service/wire'
import { generateAlerts, loadAlerts, readAlertsFile, shiftToEndAt } from '../alerts/index.ts'
import type { SystemConfig } from './config.ts'
import type { Connection } from './connection.ts'
import { signIn } from './rest.ts'
import type { RestSession } from './rest.ts'

const SLUG = 'acme'
const ACTIVE_MS = 5 * 60_000
const STORED_MS = 2 * 60_000
const SEED = 1
/** A replayed file ends now and is this long, since the adapter looks back five minutes behind its checkpoint at most. */
const REPLAY_MS = 60_000

/** Tenant `acme` becomes active and real alerts go through its adapter; running it again changes nothing. */
export async function runDemo(
  config: SystemConfig,
  connection: Connection,
  say: (line: string) => void,
): Promise<void> {
  const rest = await signIn(connection)
  const tenant = await findOrOnboard(rest, say)
  const active = await untilActive(rest, tenant.id, say)
  const alerts = await demoAlerts(config, new Date(active.created_at))
  await loadAlerts(connection.indexer_url, SLUG, alerts)
  say(`${alerts.length} alerts are in the indexer; the adapter forwards them`)
  const ids = alerts.map((alert) => alert.id)
  const stored = await untilStored(connection, tenant.id, ids, say)
  say(`tenant ${SLUG} active, ${stored} alerts stored`)
}

async function findOrOnboard(rest: RestSession, say: (line: string) => void): Promise<Tenant> {
  const { items } = await rest.call<{ items: Tenant[] }>('GET', `/api/mssp/tenants?q=${SLUG}`)
  const existing = items.find((tenant) => tenant.slug === SLUG)
  if (existing !== undefined) {
    say(`tenant ${SLUG} exists`)
    return existing
  }
  say(`onboarding tenant ${SLUG}`)
  return rest.call('POST', '/api/mssp/tenants/onboard', {
    slug: SLUG,
    display_name: 'Acme Corporation',
    profile: 'small-dev',
    branding_app_name: 'Acme Security',
  })
}

async function untilActive(rest: RestSession, id: string, say: (line: string) => void): Promise<Tenant> {
  const deadline = performance.now() + ACTIVE_MS
  let seen = ''
  for (;;) {
    const tenant = await rest.call<Tenant>('GET', `/api/mssp/tenants/${id}`)
    if (tenant.state !== seen) say(`tenant ${SLUG} is ${tenant.state}`)
    seen = tenant.state
    if (tenant.state === 'active') return tenant
    if (performance.now() > deadline)
      throw new Error(
        `tenant ${SLUG} is still ${tenant.state}: ${tenant.error?.message ?? 'no error is known'}`,
      )
    await sleep(200)
  }
}

type DemoAlert = Readonly<Record<string, unknown>> & { readonly id: string }

/**
 * Made alerts are the same for the same tenant, and a file keeps its ids, so that a second run stores nothing twice.
 * A file is moved in time to end now.
 */
async function demoAlerts(config: SystemConfig, createdAt: Date): Promise<DemoAlert[]> {
  if (config.alertsFile !== undefined)
    return shiftToEndAt(await readAlertsFile(config.alertsFile), new Date(), REPLAY_MS) as DemoAlert[]
  return generateAlerts({
    count: config.alertCount,
    seed: SEED,
    until: createdAt,
    minutes: 120,
  }) as DemoAlert[]
}

/** How many of the given alerts are stored; waits for all of them. */
async function untilStored(
  connection: Connection,
  tenantId: string,
  sourceEventIds: readonly string[],
  say: (line: string) => void,
): Promise<number> {
  const sql = postgres(connection.databases.mssp, { max: 1, fetch_types: false, onnotice: () => undefined })
  const deadline = performance.now() + STORED_MS
  const wanted = [...new Set(sourceEventIds)]
  try {
    for (let told = -1; ; await sleep(250)) {
      const [row] = await sql<{ stored: number }[]>`
        select count(*)::int as stored from events
        where tenant_id = ${tenantId} and kind = 'event.ingested'
          and payload ->> 'source_event_id' in (select jsonb_array_elements_text(${sql.json(wanted)}))`
      const stored = row?.stored ?? 0
      if (stored >= wanted.length) return stored
      if (stored !== told) say(`${stored} of ${wanted.length} alerts are stored`)
      told = stored
      if (performance.now() > deadline)
        throw new Error(`only ${stored} of ${wanted.length} alerts were stored in time`)
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
}
