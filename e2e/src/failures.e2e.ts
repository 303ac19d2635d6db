import { setTimeout as sleep } from 'node:timers/promises'
import { generateAlerts, loadAlerts } from '@service/dev'
import type { TenantDetail } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  apiPid,
  createTenant,
  readiness,
  type Readiness,
  startTenantWorld,
  transitions,
  until,
  untilActive,
  type World,
} from './harness.ts'

const OUTAGE_MS = 20_000

let world: World
let tenant: TenantDetail
let pid: number | undefined
beforeAll(async () => {
  ;({ world, tenant, pid } = await startTenantWorld('acme'))
}, 900_000)
afterAll(() => world?.end())

type Item = {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly data?: unknown
  readonly status?: { readonly containerStatuses?: readonly { readonly restartCount: number }[] }
}
async function get<T = Item>(...args: readonly string[]): Promise<T> {
  return JSON.parse(await world.kubectl('get', ...args, '-o', 'json')) as T
}
const list = async (...args: readonly string[]): Promise<Item[]> =>
  (await get<{ items: Item[] }>(...args)).items
const detail = (id: string): Promise<TenantDetail> => world.rest.call('GET', `/api/mssp/tenants/${id}`)
const storedOf = async (id: string): Promise<string[]> => {
  const rows = await world.sql<{ id: string }[]>`
    select payload ->> 'source_event_id' as id from events where tenant_id = ${id}`
  return rows.map((row) => row.id).toSorted()
}
const alertsOf = (seed: number, count: number) =>
  generateAlerts({ count, seed, until: new Date(), minutes: 2 }) as ({ id: string } & object)[]
const load = (alerts: readonly object[]) =>
  loadAlerts(world.connection.indexer_url, 'acme', alerts as Parameters<typeof loadAlerts>[2])
const heartbeatOf = async (id: string): Promise<number> =>
  Date.parse((await detail(id)).runtime.last_heartbeat_at ?? '')

/** A creation with all that its answer says. */
async function create(slug: string) {
  const { mssp_url: origin, admin } = world.connection
  const headers = { origin, 'content-type': 'application/json' }
  const post = (path: string, body: object, cookie = '') =>
    fetch(`${origin}${path}`, { method: 'POST', headers: { ...headers, cookie }, body: JSON.stringify(body) })
  const login = await post('/api/auth/login', admin)
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0]
  const response = await post('/api/mssp/tenants', { slug, display_name: slug }, cookie)
  const { code } = (await response.json()) as { code?: string }
  return { status: response.status, code, retryAfter: Number(response.headers.get('retry-after')) }
}

/** What a probe sees until it is told to stop. */
function probing() {
  const seen: (Readiness | null)[] = []
  const stop = new AbortController()
  const done = (async () => {
    while (!stop.signal.aborted) {
      seen.push(await readiness(world))
      await sleep(250)
    }
  })()
  return {
    seen,
    async end() {
      stop.abort()
      await done
    },
  }
}

/** Everything of the tenant that must outlive its resource. */
async function belongings() {
  const [namespace, pods, own, install] = await Promise.all([
    get('namespace', 'tenant-acme'),
    list('pods', '-n', 'tenant-acme'),
    list('secrets', '-n', 'tenant-acme'),
    list('secrets', '-n', 'service-system', '-l', `tenant-id=${tenant.id}`),
  ])
  return {
    namespace: namespace.metadata.uid,
    pods: pods.map(({ metadata, status }) => ({
      uid: metadata.uid,
      restarts: status?.containerStatuses?.map((container) => container.restartCount),
    })),
    secrets: [...own, ...install].map(({ metadata, data }) => ({ name: metadata.name, data })),
  }
}

describe('somebody deletes the Tenant by hand', () => {
  it('gets it back with everything that belongs to it, and nothing was restarted', async () => {
    const before = await belongings()
    expect(before.pods.length).toBeGreaterThan(0)
    expect(before.secrets.length).toBeGreaterThan(6)
    const { uid } = (await get('tenants.service.dev/acme')).metadata
    await world.kubectl('delete', 'tenants.service.dev/acme', '--wait=false')
    const states = new Set<string>()
    await until('the Tenant to be back and ready', async () => {
      states.add((await detail(tenant.id)).state)
      const found = await get<Item & { status?: { phase?: string } }>('tenants.service.dev/acme')
      return found.metadata.uid !== uid && found.status?.phase === 'active'
    })
    await world.kubectl('wait', '--for=condition=Ready', 'tenants.service.dev/acme', '--timeout=60s')
    expect(await belongings()).toEqual(before)
    await sleep(2_000)
    states.add((await detail(tenant.id)).state)
    expect([...states]).toEqual(['active'])
    expect(apiPid(world)).toBe(pid)
  })
})

describe('the cluster is away', () => {
  it('costs neither readiness nor data, and what was under way is finished when it is back', async () => {
    const midway = await createTenant(world, 'midway')
    await until('the namespace of a tenant under way', () => get('namespace', 'tenant-midway'))
    const probe = probing()
    await world.system.stop('cluster')
    const away = performance.now()
    const before = await heartbeatOf(tenant.id)
    const alerts = alertsOf(11, 50)
    await load(alerts)

    await until(
      'the check of the cluster to fail',
      async () => ((await readiness(world))?.checks.cluster ?? '') === 'failing',
    )
    const refused = await create('never')
    expect(refused).toMatchObject({ status: 503, code: 'unavailable' })
    expect(refused.retryAfter).toBeGreaterThan(0)
    await until('the alerts of the outage', async () => {
      const ids = new Set(await storedOf(tenant.id))
      return alerts.every(({ id }) => ids.has(id))
    })
    await until('heartbeats of the outage', async () => (await heartbeatOf(tenant.id)) > before + 5_000)
    expect((await detail(tenant.id)).state).toBe('active')
    await sleep(Math.max(0, OUTAGE_MS - (performance.now() - away)))
    await world.system.start('cluster')

    await untilActive(world, midway.id)
    await world.kubectl('wait', '--for=condition=Ready', 'tenants.service.dev/midway', '--timeout=60s')
    await world.kubectl('wait', '--for=condition=Ready', 'tenants.service.dev/acme', '--timeout=60s')
    await until('all checks to be well', async () => (await readiness(world))?.checks.operator === 'ok')
    await probe.end()
    expect(await transitions(world, midway.id)).toEqual(['pending>provisioning', 'provisioning>active'])
    expect(probe.seen.filter((each) => each?.status !== 200)).toEqual([])
    expect(probe.seen.some((each) => each?.checks.cluster === 'failing')).toBe(true)
    expect(apiPid(world)).toBe(pid)
    expect(await world.sql`select from tenants where slug = 'never'`).toHaveLength(0)
  })
})

describe('the indexer is away', () => {
  it('is said by the heartbeat, and its alerts come once when it is back', async () => {
    await world.system.stop('indexer')
    await until('a heartbeat that says so', async () => {
      const { runtime } = await detail(tenant.id)
      return runtime.health?.startsWith('indexer_') === true
    })
    expect((await detail(tenant.id)).state).toBe('active')
    await world.system.start('indexer')
    const alerts = alertsOf(12, 40)
    await load(alerts)
    await until('an honest "ok"', async () => (await detail(tenant.id)).runtime.health === 'ok')
    await until('the alerts', async () => {
      const ids = new Set(await storedOf(tenant.id))
      return alerts.every(({ id }) => ids.has(id))
    })
    await sleep(2_500)
    const ids = await storedOf(tenant.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(apiPid(world)).toBe(pid)
  })
})
