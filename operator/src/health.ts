import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

export type HealthServer = { readonly port: number; readonly close: () => Promise<void> }

type Answer = { readonly status: number; readonly type: string; readonly text: string }

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json',
  text: JSON.stringify(body),
})

/**
 * What an operator in a pod of its own answers: `/health/live` that the process lives, `/health/ready` that it takes part in the
 * election and hears the cluster, `/metrics`. Rejects when the port is taken.
 */
export async function startHealthServer(options: {
  readonly port: number
  readonly registry: Registry
  readonly status: () => 'ok' | 'failing'
}): Promise<HealthServer> {
  const { registry, status } = options
  const routes: Readonly<Record<string, () => Promise<Answer>>> = {
    '/health/live': async () => json(200, { ok: true }),
    '/health/ready': async () => json(status() === 'ok' ? 200 : 503, { ok: status() === 'ok' }),
    '/metrics': async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }),
  }
  const answerTo = async ({ url = '', method }: IncomingMessage): Promise<Answer> => {
    const route = routes[url.split('?')[0] ?? '']
    if (route === undefined) return json(404, { ok: false })
    return method === 'GET' || method === 'HEAD' ? route() : json(405, { ok: false })
  }
  const server = createServer((request, response) => {
    const send = ({ status: code, type, text }: Answer): void => {
      response.writeHead(code, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
    }
    answerTo(request).then(send, () => send(json(500, { ok: false })))
  })
  server.requestTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, resolve)
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
