import { setTimeout as sleep } from 'node:timers/promises'
import type { TenantDetail } from '@service/wire'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  adapterToken,
  apiPid,
  createTenant,
  readiness,
  startTenantWorld,
  until,
  untilActive,
  type World,
} from './harness.ts'

const OUTAGE_MS = 10_000
const RESTARTS = 10
const BATCH = 20

let world: World
let tenant: TenantDetail
let pid: number | undefined
beforeAll(async () => {
  ;({ world, tenant, pid } = await startTenantWorld('acme'))
}, 900_000)
afterAll(() => world?.end())

const ready = () => until('the API to be ready', async () => (await readiness(world))?.status === 200)

it('a database that is away makes the API unready and names itself; nothing ends and all comes back', async () => {
  await world.system.stop('postgres')
  const away = performance.now()
  const seen = await until('the API to be unready', async () => {
    const found = await readiness(world)
    return found?.status === 503 && found
  })
  expect(seen.checks.database).toBe('failing')
  expect(seen.checks.cluster).toBe('ok')
  await expect(createTenant(world, 'never')).rejects.toMatchObject({
    status: 503,
    body: { code: 'unavailable' },
  })
  const { mssp_url } = world.connection
  expect((await fetch(`${mssp_url}/health/live`)).status).toBe(200)
  await sleep(Math.max(0, OUTAGE_MS - (performance.now() - away)))
  await world.system.start('postgres')
  await ready()
  expect(apiPid(world)).toBe(pid)
  await untilActive(world, (await createTenant(world, 'after')).id)
})

type Answer = { readonly results: readonly { readonly source_event_id: string; readonly status: string }[] }

/** Sends batches one after the other with the adapter's own token; each again until it is acknowledged. */
function pump(token: string) {
  const accepted = new Map<string, number>()
  const acknowledged = new Set<string>()
  let failures = 0
  const stop = new AbortController()
  const send = async (ids: readonly string[]): Promise<boolean> => {
    const response = await fetch(`${world.connection.mssp_url}/api/internal/adapter/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        events: ids.map((id) => ({ source_event_id: id, source: 'pump', severity: 3 })),
      }),
      signal: AbortSignal.timeout(15_000),
    }).catch(() => null)
    if (response?.status !== 200) {
      await response?.body?.cancel()
      return false
    }
    for (const { source_event_id: id, status } of ((await response.json()) as Answer).results) {
      acknowledged.add(id)
      if (status === 'accepted') accepted.set(id, (accepted.get(id) ?? 0) + 1)
    }
    return true
  }
  const lane = async (name: number): Promise<void> => {
    for (let batch = 0; !stop.signal.aborted; batch += 1) {
      const ids = Array.from({ length: BATCH }, (_, index) => `${name}-${batch}-${index}`)
      while (!(await send(ids))) {
        failures += 1
        await sleep(50)
      }
      await sleep(20)
    }
  }
  const done = Promise.all([lane(0), lane(1), lane(2)])
  return {
    accepted,
    acknowledged,
    failures: () => failures,
    async end() {
      stop.abort()
      await done
    },
  }
}

it('ten restarts of the database under load: no exit, no acknowledged event lost, none twice', async () => {
  const load = pump(await adapterToken(world, 'acme'))
  for (let round = 0; round < RESTARTS; round += 1) {
    const before = load.acknowledged.size
    await until('events to be stored', async () => load.acknowledged.size > before + 3 * BATCH)
    // In turns in order, and as when the machine dies.
    if (round % 2 === 0) {
      await world.system.stop('postgres')
      await world.system.start('postgres')
    } else {
      const killed = world.system.connection().pids.postgres
      world.system.kill('postgres')
      await until('another database process', async () => {
        const { postgres } = world.system.connection().pids
        return postgres !== undefined && postgres !== killed
      })
    }
    await ready()
  }
  await load.end()
  const rows = await world.sql<{ id: string }[]>`
    select payload ->> 'source_event_id' as id from events
    where tenant_id = ${tenant.id} and payload ->> 'source' = 'pump'`
  const stored = rows.map(({ id }) => id)
  console.log(
    `${stored.length} events stored over ${RESTARTS} restarts, ${load.failures()} batches sent again`,
  )
  expect(new Set(stored).size).toBe(stored.length)
  expect(new Set(stored)).toEqual(load.acknowledged)
  expect([...load.accepted.values()].filter((times) => times > 1)).toEqual([])
  expect(load.failures()).toBeGreaterThan(0)
  expect(apiPid(world)).toBe(pid)
  await ready()
  await until('the adapter to be heard again', async () => {
    const { runtime } = await world.rest.call<TenantDetail>('GET', `/api/mssp/tenants/${tenant.id}`)
    return (runtime.heartbeat_age_seconds ?? Infinity) < 5
  })
})
