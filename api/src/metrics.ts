import { type Clock, TENANT_STATES, type TenantState } from '@service/domain'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from './db/database.ts'
import { asReader, type Tx } from './db/scope.ts'
import { queueDepth } from './projector/queue.ts'

export type ApiMetrics = {
  readonly registry: Registry
  readonly request: (sample: { route: string; method: string; status: number; seconds: number }) => void
  readonly ingested: (counts: { accepted: number; duplicates: number; rejected: number }) => void
  /** A failure that nothing caught: always a bug. */
  readonly unhandled: () => void
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The counters of this process, with Node's own; made once for a process. */
export function createMetrics(version: string, authMode: string): ApiMetrics {
  const registry = new Registry()
  const shared = { registers: [registry] }
  collectDefaultMetrics({ register: registry })
  const labelNames = ['route', 'method', 'status'] as const
  const requests = new Counter({
    ...shared,
    name: 'service_http_requests_total',
    help: 'Requests by route of the route table.',
    labelNames,
  })
  const duration = new Histogram({
    ...shared,
    name: 'service_http_request_duration_seconds',
    help: 'Time of a request by route.',
    labelNames: ['route', 'method'],
    buckets: BUCKETS,
  })
  const events = new Counter({
    ...shared,
    name: 'service_events_ingested_total',
    help: 'Events that adapters sent, by outcome.',
    labelNames: ['outcome'],
  })
  const unhandled = new Counter({
    ...shared,
    name: 'service_unhandled_failures_total',
    help: 'Failures that nothing caught.',
  })
  new Gauge({
    ...shared,
    name: 'service_build_info',
    help: 'Version and auth mode; the value is 1.',
    labelNames: ['version', 'auth_mode'],
  }).set({ version, auth_mode: authMode }, 1)
  return {
    registry,
    request({ route, method, status, seconds }) {
      requests.inc({ route, method, status: String(status) })
      duration.observe({ route, method }, seconds)
    },
    ingested({ accepted, duplicates, rejected }) {
      events.inc({ outcome: 'accepted' }, accepted)
      events.inc({ outcome: 'duplicate' }, duplicates)
      events.inc({ outcome: 'rejected' }, rejected)
    },
    unhandled: () => unhandled.inc(),
  }
}

type FleetRow = {
  readonly id: string
  readonly slug: string
  readonly state: TenantState
  readonly heartbeat: Date | null
}

/** The gauges about tenants: read from the database at each scrape, so that a deleted tenant's series end. */
export function createFleetGauges(
  registry: Registry,
  sources: { readonly db: Database; readonly clock: Clock; readonly orphans: () => readonly string[] },
): () => Promise<void> {
  const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ registers: [registry], name, help, labelNames })
  const states = gauge('service_tenants', 'Tenants that are not deleted, by state.', ['state'])
  const age = gauge(
    'service_tenant_adapter_heartbeat_age_seconds',
    'Time since the last heartbeat of a tenant adapter.',
    ['tenant_id', 'slug'],
  )
  const depth = gauge('service_reconcile_queue_depth', 'Tenants whose resource waits to be applied.')
  const orphans = gauge('service_orphan_tenants', 'Tenant resources without a row; they are left alone.')
  const orphan = gauge('service_orphan_tenant_info', 'One for each Tenant resource without a row.', ['slug'])
  const failed = gauge('service_fleet_scrape_failed', '1 when the last scrape could not read the database.')

  return async () => {
    const names = sources.orphans()
    orphans.set(names.length)
    orphan.reset()
    for (const slug of names) orphan.set({ slug }, 1)
    try {
      const fleet = await asReader(sources.db, readFleet)
      depth.set(fleet.depth)
      states.reset()
      for (const state of TENANT_STATES)
        states.set({ state }, fleet.tenants.filter((row) => row.state === state).length)
      age.reset()
      const now = sources.clock().getTime()
      for (const { id, slug, heartbeat } of fleet.tenants)
        if (heartbeat !== null)
          age.set({ tenant_id: id, slug }, Math.max(0, (now - heartbeat.getTime()) / 1000))
      failed.set(0)
    } catch {
      // Old figures would look like live ones.
      for (const each of [states, age]) each.reset()
      failed.set(1)
    }
  }
}

async function readFleet(tx: Tx): Promise<{ tenants: FleetRow[]; depth: number }> {
  const tenants = await tx.sql<FleetRow[]>`
    select t.id, t.slug, t.state, h.last_heartbeat_at as heartbeat
    from tenants t left join tenant_heartbeats h on h.tenant_id = t.id
    where t.deleted_at is null`
  return { tenants: [...tenants], depth: await queueDepth(tx) }
}
