import type { Registry } from 'prom-client'
import { type HttpServer, type Listener, startHttpServer } from './http/server.ts'
import type { Log } from './log.ts'

/** `/metrics` on a port of its own, away from everything that users reach. */
export function startMetricsServer(options: {
  readonly registry: Registry
  readonly collect: () => Promise<void>
  readonly listen: { readonly host: string; readonly port: number }
  readonly log: Log
}): Promise<HttpServer> {
  const { registry, collect, log } = options
  const scrape = async (): Promise<string> => {
    await collect()
    return registry.metrics()
  }
  const listener: Listener = (request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end()
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
    } else {
      scrape().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        (error: unknown) => {
          log.error({ err: error }, 'the metrics could not be collected')
          response.writeHead(500).end()
        },
      )
    }
  }
  return startHttpServer(listener, options.listen)
}
