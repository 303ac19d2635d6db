import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { VERSION } from './version.ts'

export type HealthServer = { readonly port: number; readonly close: () => Promise<void> }

/**
 * `/health/live` says that the process lives, `/health/ready` that the token can be read. Neither looks at the API or
 * the indexer: a restart would repair neither, and heartbeats carry that state. Rejects when the port is taken.
 */
export async function startHealthServer(
  address: string,
  port: number,
  isReady: () => Promise<boolean>,
): Promise<HealthServer> {
  const routes: Readonly<Record<string, () => Promise<boolean>>> = {
    '/health/live': () => Promise.resolve(true),
    '/health/ready': isReady,
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
      (ok) => answer(ok ? 200 : 503, { ok, version: VERSION }),
      () => answer(503, { ok: false, version: VERSION }),
    )
  })
  server.requestTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
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
