import { setTimeout as sleep } from 'node:timers/promises'
import { type Tenant, TENANTS, type TenantStatus } from '@service/crds'
import { type Failpoint, FAILPOINTS, materialKey, materialSecretName } from '@service/domain'
import { createKubeClient, type KubeClient, type KubeObject, SECRETS } from '@service/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { type Answer, call } from '../support/http.ts'
import { freePort, type Running, start, until } from '../support/process.ts'
import { ADMIN, serviceEnvironment } from '../support/service.ts'

let database: TestDatabase
let cluster: Awaited<ReturnType<typeof ownCluster>>
let kube: KubeClient
let environment: Record<string, string>
let port: number
let running: Running
beforeAll(async () => {
  const metricsPort = await freePort()
  ;[database, cluster, port] = await Promise.all([testDatabase(), ownCluster(), freePort()])
  const { kubeconfigPath } = cluster
  kube = createKubeClient({ kubeconfigPath, userAgent: 'test' })
  environment = serviceEnvironment({ urls: database.urls, kubeconfigPath, port, metricsPort })
  await start(['migrate'], environment).exit
})
afterAll(async () => {
  running?.child.kill('SIGKILL')
  await kube?.close()
  await cluster?.stop()
  await database?.stop()
})

const host = () => `localhost:${port}`
const post = (path: string, body: unknown, headers: Record<string, string>): Promise<Answer> =>
  call(port, {
    method: 'POST',
    path,
    body: JSON.stringify(body),
    headers: { host: host(), origin: `http://${host()}`, 'content-type': 'application/json', ...headers },
  })
const killed = new Set<Failpoint>()

/** A process that dies when `armed` comes; without one it lives. */
async function serve(armed?: Failpoint): Promise<void> {
  running = start(['serve'], { ...environment, ...(armed === undefined ? {} : { SERVICE_FAILPOINT: armed }) })
  await until(running.output, async () => {
    const dead = running.child.exitCode !== null || running.child.signalCode !== null
    return dead || (await call(port, { path: '/health/ready' })).status === 200
  })
}
/** The process has died at its failpoint, and only now. */
async function dies(armed: Failpoint, attempt?: Promise<unknown>): Promise<void> {
  if (attempt !== undefined) await expect(attempt).rejects.toThrow()
  await running.exit
  expect(running.child.signalCode, running.output()).toBe('SIGKILL')
  killed.add(armed)
}
/** What a killed claimer holds comes back after a minute; this test does not wait for that. */
const releaseMarks = () => database.all`update reconcile_queue set not_before = clock_timestamp()`
const signedIn = async (): Promise<Record<string, string>> => {
  const { headers } = await post('/api/auth/login', ADMIN, {})
  return { cookie: (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
}
const lifecycle = async (id: string): Promise<string[]> => {
  const rows = await database.all<{ kind: string }[]>`
    select kind from tenant_lifecycle_events where tenant_id = ${id} order by id`
  return rows.map(({ kind }) => kind)
}

test('a process killed after any effect or commit of the API goes on where it was', async () => {
  const input = { slug: 'killed', display_name: 'Killed' }
  await serve('api.create.material_written')
  await dies('api.create.material_written', post('/api/mssp/tenants', input, await signedIn()))
  expect(await database.all`select from tenants`).toHaveLength(0)

  await serve('api.create.committed')
  await dies('api.create.committed', post('/api/mssp/tenants', input, await signedIn()))
  const [row] = await database.all<{ id: string }[]>`select id from tenants`
  const id = row?.id ?? ''
  expect(await lifecycle(id)).toEqual(['tenant.created'])

  await serve('api.projector.applied')
  await dies('api.projector.applied')
  const made = await kube.get<Tenant>(TENANTS, { name: 'killed' })
  expect(made?.spec.tenantId).toBe(id)
  expect(await database.all`select from reconcile_queue`).toHaveLength(1)

  await releaseMarks()
  await serve('api.projector.mark_cleared')
  await dies('api.projector.mark_cleared')
  expect(await database.all`select from reconcile_queue`).toHaveLength(0)
  const again = await kube.get<Tenant>(TENANTS, { name: 'killed' })
  expect(again?.metadata.resourceVersion).toBe(made?.metadata.resourceVersion)

  const failure = { step: 'release', reason: 'InstallFailed', message: 'no', retryToken: '' } as const
  const at = '2026-01-01T00:00:00Z'
  const status: TenantStatus = {
    phase: 'pending',
    observedRevision: 1,
    failure: { ...failure, at },
    journal: [{ seq: 1, kind: 'step.failed', step: 'release', at, evidence: 'why' }],
  }
  await kube.patch(TENANTS, { name: 'killed' }, { status }, { subresource: 'status' })
  await serve('api.projector.status_committed')
  await dies('api.projector.status_committed')
  expect(await lifecycle(id)).toEqual(['tenant.created', 'step.failed'])

  await serve('api.heartbeat.committed')
  expect(await lifecycle(id)).toEqual(['tenant.created', 'step.failed'])
  const bearer = { authorization: `Bearer ${await adapterToken(id)}` }
  const beat = { tenant_id: id, version: '1', health: 'ok' }
  await dies('api.heartbeat.committed', post('/api/internal/adapter/health', beat, bearer))
  expect(await database.all`select from tenant_heartbeats`).toHaveLength(1)

  await serve('api.events.committed')
  const batch = { events: [{ source_event_id: 'e1', severity: 3 }] }
  await dies('api.events.committed', post('/api/internal/adapter/events', batch, bearer))

  await serve('api.retry.committed')
  const resent = await post('/api/internal/adapter/events', batch, bearer)
  expect(resent.body).toMatchObject({ accepted: 0, duplicates: 1 })
  const retry = `/api/mssp/tenants/${id}:retry`
  await dies('api.retry.committed', post(retry, {}, await signedIn()))

  await releaseMarks()
  await serve()
  expect((await post(retry, {}, await signedIn())).body).toMatchObject({
    code: 'state_conflict',
    current_state: 'pending',
  })
  const retried = await until(running.output, async () => {
    const found = await kube.get<Tenant>(TENANTS, { name: 'killed' })
    return found?.spec.revision === 2 && found
  })
  const [after] = await database.all`select error, retry_token from tenants where id = ${id}`
  expect(after).toEqual({ error: null, retry_token: retried.spec.retryToken })
  // The old failure stands in the status until the operator looks; it does not come back into the row.
  await sleep(500)
  expect(await database.all`select from tenants where error is not null`).toHaveLength(0)
  expect(await lifecycle(id)).toEqual(['tenant.created', 'step.failed', 'retry.requested'])
  expect([...killed].toSorted()).toEqual(FAILPOINTS.filter((name) => name.startsWith('api.')).toSorted())
}, 180_000)

async function adapterToken(id: string): Promise<string> {
  const key = { name: materialSecretName(id), namespace: 'service-system' }
  const secret = await kube.get<KubeObject & { data: Record<string, string> }>(SECRETS, key)
  return Buffer.from(secret?.data[materialKey('adapter-token', 'token')] ?? '', 'base64').toString()
}

test('a failpoint in production is refused before anything starts', async () => {
  const production = { NODE_ENV: 'production', SERVICE_FAILPOINT: 'api.create.committed' }
  const refused = start(['serve'], { ...environment, ...production })
  expect(await refused.exit).toBe(2)
  expect(refused.output()).toContain('SERVICE_FAILPOINT is for drills')
})
