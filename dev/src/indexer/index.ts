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
  /** In place of one user. */
  readonly authorize?: (username: string, password: string) => Promise<boolean>
  /** Paths that anybody may ask; they answer with nothing. */
  readonly open?: readonly string[]
  /** Serves one tenant at the root of the address in place of each below its slug. */
  readonly only?: string
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Further ports to the same documents, without TLS and for anybody. */
  readonly more?: readonly { readonly port: number }[]
}
export type Indexer = { readonly url: string; readonly stop: () => Promise<void> }

/** Starts the stand-in. Rejects when the port is taken or the folder cannot be read. */
export async function startIndexer(options: IndexerOptions): Promise<Indexer> {
  const route = createRoutes(await openStores(options.dataDir))
  const handleAs =
    (door: Door) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      answer(route, request, door)
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
  const handle = handleAs(options)
  const server = options.tls === undefined ? createServer(handle) : createTlsServer(options.tls, handle)
  const { only } = options
  const doors = (options.more ?? []).map(({ port }) => ({
    port,
    server: createServer(handleAs(only === undefined ? {} : { only })),
  }))
  for (const each of [{ port: options.port, server }, ...doors])
    await new Promise<void>((resolve, reject) => {
      each.server.once('error', reject)
      each.server.listen(each.port, options.host ?? '127.0.0.1', resolve)
    })
  const { port } = server.address() as AddressInfo
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    stop: async () => {
      for (const each of [server, ...doors.map((door) => door.server)])
        await new Promise<void>((resolve) => {
          each.close(() => resolve())
          each.closeAllConnections()
        })
    },
  }
}

type Door = Pick<IndexerOptions, 'auth' | 'authorize' | 'open' | 'only'>

async function answer(
  route: ReturnType<typeof createRoutes>,
  request: IncomingMessage,
  door: Door,
): Promise<Answer> {
  if (door.open?.includes(request.url ?? '') === true) return { status: 200, body: {} }
  if (!(await isAllowed(request.headers.authorization, door)))
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
  const url = new URL(
    `${door.only === undefined ? '' : `/${door.only}`}${request.url ?? '/'}`,
    'http://indexer',
  )
  const body = Buffer.concat(chunks).toString('utf8')
  return route(request.method ?? 'GET', url, body)
}

async function isAllowed(header: string | undefined, { auth, authorize }: Door): Promise<boolean> {
  if (auth !== undefined) return isAuthorized(header, auth)
  if (authorize === undefined) return true
  const [, encoded = ''] = /^Basic (\S+)$/.exec(header ?? '') ?? []
  const [, username = '', password = ''] =
    /^([^:]+):(.+)$/.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return username !== '' && authorize(username, password)
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
