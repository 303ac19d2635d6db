import { Gauge, Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startHealthServer, type HealthServer } from './health.ts'

let server: HealthServer
let state: 'ok' | 'failing'
beforeEach(async () => {
  state = 'ok'
  const registry = new Registry()
  new Gauge({ name: 'one', help: 'One', registers: [registry] }).set(1)
  server = await startHealthServer({ port: 0, registry, status: () => state })
})
afterEach(() => server.close())

const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method })

it('says that it lives, and that it is ready while it hears the cluster', async () => {
  expect(await (await ask('/health/ready')).json()).toEqual({ ok: true })
  state = 'failing'
  const answer = await ask('/health/ready')
  expect([answer.status, await answer.json()]).toEqual([503, { ok: false }])
  expect((await ask('/health/live')).status).toBe(200)
})

it('tells its metrics, and nothing else', async () => {
  expect(await (await ask('/metrics')).text()).toContain('one 1')
  expect((await ask('/')).status).toBe(404)
  expect((await ask('/metrics', 'POST')).status).toBe(405)
})
