import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type HealthServer = { readonly port: number; readonly close: () => Promise<void> }

/** What the health routes answer beside `ok`; holds no secret. */
export type HealthState = { readonly version: string; readonly state?: string }

/**
 * `/health/live` says that the process lives, `/health/ready` that it can work as far as it is up to its pod. Neither
 * looks at the API or anything else outside: a restart would not repair it. Rejects when the port is taken.
 */
export async function startHealthServer(options: {
  readonly address: string
  readonly port: number
  readonly isReady: () => Promise<boolean>
  readonly state: () => HealthState
}): Promise<HealthServer> {
  const routes: Readonly<Record<string, () => Promise<boolean>>> = {
    '/health/live': () => Promise.resolve(true),
    '/health/ready': options.isReady,
  }
  const server = createServer((request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      response.end(JSON.stringify(body))
    }
    const check = routes[request.url?.split('?')[0] ?? '']
    if (check === undefined) return answer(404, { ok: false })
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, { ok: false })
    check().then(
      (ok) => answer(ok ? 200 : 503, { ok, ...options.state() }),
      () => answer(503, { ok: false, ...options.state() }),
    )
  })
  server.requestTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.address, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
