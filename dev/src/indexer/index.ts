import { timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { errorBody, IndexerError } from './errors.ts'
import type { Answer } from './errors.ts'
import { createRoutes } from './routes.ts'
import { openStores } from './store.ts'

const MAX_BODY = 64 * 1024 * 1024

export type IndexerOptions = {
  /** 0 takes a free one. */
  readonly port: number
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string
  /** Where documents survive a restart; without it they live in memory. */
  readonly dataDir?: string
  readonly auth?: { readonly username: string; readonly password: string }
  readonly tls?: { readonly key: string; readonly cert: string }
}
export type Indexer = { readonly url: string; readonly stop: () => Promise<void> }

/** Starts the stand-in. Rejects when the port is taken or the folder cannot be read. */
export async function startIndexer(options: IndexerOptions): Promise<Indexer> {
  const route = createRoutes(await openStores(options.dataDir))
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(route, request, options)
      .catch((error: unknown) => failure(error))
      .then(({ status, body, headers }) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        const type = typeof body === 'string' ? 'text/plain' : 'application/json'
        response.writeHead(status, {
          'content-type': `${type}; charset=UTF-8`,
          'content-length': Buffer.byteLength(text),
          ...headers,
        })
        response.end(request.method === 'HEAD' ? undefined : text)
      })
      .catch(() => response.destroy())
  }
  const server = options.tls === undefined ? createServer(handle) : createTlsServer(options.tls, handle)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host ?? '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  route: ReturnType<typeof createRoutes>,
  request: IncomingMessage,
  { auth }: IndexerOptions,
): Promise<Answer> {
  if (auth !== undefined && !isAuthorized(request.headers.authorization, auth))
    return {
      ...failure(new IndexerError(401, 'security_exception', 'missing or wrong credentials')),
      headers: { 'www-authenticate': 'Basic realm="indexer"' },
    }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY) throw new IndexerError(413, 'content_too_long_exception', 'the body is too large')
    chunks.push(chunk)
  }
  const url = new URL(request.url ?? '/', 'http://indexer')
  const body = Buffer.concat(chunks).toString('utf8')
  return route(request.method ?? 'GET', url, body)
}

function isAuthorized(header: string | undefined, auth: { username: string; password: string }): boolean {
  const wanted = Buffer.from(`Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`)
  const given = Buffer.from(header ?? '')
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function failure(error: unknown): Answer {
  const known =
    error instanceof IndexerError
      ? error
      : new IndexerError(500, 'exception', error instanceof Error ? error.message : 'unknown')
  return { status: known.status, body: errorBody(known) }
}
