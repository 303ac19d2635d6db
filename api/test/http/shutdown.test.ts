import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../support/http.ts'
import { freePort, start, until } from '../support/process.ts'
import { serviceEnvironment } from '../support/service.ts'

/** Takes every connection and says nothing, as a host does behind a firewall that drops. */
const sockets = new Set<Socket>()
const silence = createServer((socket) => {
  sockets.add(socket)
  socket.on('error', () => socket.destroy())
})
beforeAll(async () => {
  silence.listen(0, '127.0.0.1')
  await once(silence, 'listening')
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  silence.close()
})

test('a process whose database never answers ends in order within thirty seconds', async () => {
  const [port, metricsPort] = await Promise.all([freePort(), freePort()])
  const url = `postgres://service_app:x@127.0.0.1:${(silence.address() as AddressInfo).port}/service`
  const environment = serviceEnvironment({
    urls: { admin: url, app: url, mssp: url },
    kubeconfigPath: '/nowhere/kubeconfig',
    port,
    metricsPort,
  })
  const running = start(['serve'], environment)
  try {
    await until(running.output, async () => (await call(port, { path: '/health/live' })).status === 200)
    const ready = await call(port, { path: '/health/ready' })
    expect(ready).toMatchObject({ status: 503, body: { checks: { database: 'failing' } } })
    // A request that waits for the database, and is cut off or answered with 503.
    const login = call(port, {
      method: 'POST',
      path: '/api/auth/login',
      body: JSON.stringify({ email: 'a@example.com', password: 'long enough it is' }),
      headers: {
        host: `localhost:${port}`,
        origin: `http://localhost:${port}`,
        'content-type': 'application/json',
      },
    }).then(
      ({ status }) => status,
      () => 'cut off',
    )
    const told = performance.now()
    running.child.kill('SIGTERM')
    expect(await running.exit, running.output()).toBe(0)
    expect(performance.now() - told).toBeLessThan(30_000)
    expect([503, 'cut off']).toContain(await login)
  } finally {
    running.child.kill('SIGKILL')
  }
}, 60_000)
