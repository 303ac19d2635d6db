import { acceptsIdempotencyKey } from '@service/wire'
import type { Context, Handler } from 'hono'
import { accepts } from 'hono/accepts'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { readSessionCookie } from '../cookies.ts'
import { EXPORT_TYPES } from '../export.ts'
import type { OnceAnswer, OnceRequest } from '../../verbs/once.ts'
import type { Answer, Client, HttpEnv } from '../types.ts'

/** Does work at most once for an `Idempotency-Key` (decision 1.7). */
export type Once = (
  request: OnceRequest,
  work: () => Promise<OnceAnswer>,
) => Promise<OnceAnswer & { replayed: boolean }>

/** Calls the row's handler and sends what it answers. */
export const answer =
  (once: Once): Handler<HttpEnv> =>
  async (c) => {
    const { handler, route } = c.get('matched')
    const identity = c.get('identity')
    const call = {
      principal: identity?.principal ?? null,
      user: identity?.user ?? null,
      params: c.get('params'),
      query: c.get('query'),
      body: c.get('body'),
      client: clientOf(c),
    }
    const keyed = keyedRequest(c, call.client.target)
    const result =
      keyed === null ? await handler(call) : await replayable(once, keyed, () => handler(call), route.status)
    for (const [name, value] of Object.entries(result.headers ?? {})) c.header(name, value)
    if ('text' in result) return c.body(result.text, 200, { 'content-type': result.contentType })
    const status = result.status ?? route.status
    return status === 204 ? c.body(null, 204) : c.json(result.body as object, status as ContentfulStatusCode)
  }

/** Null where keys mean nothing, or none was given. */
function keyedRequest(c: Context<HttpEnv>, path: string): OnceRequest | null {
  const { route } = c.get('matched')
  const key = c.req.header('idempotency-key')
  const principal = c.get('identity')?.principal
  if (key === undefined || principal?.kind !== 'user' || !acceptsIdempotencyKey(route)) return null
  return { key, userId: principal.userId, method: route.method, path, body: c.get('body') }
}

async function replayable(
  once: Once,
  request: OnceRequest,
  work: () => Promise<Answer<unknown>>,
  status: number,
): Promise<Answer<unknown>> {
  const { replayed, ...result } = await once(request, async () => {
    const done = await work()
    if ('text' in done) throw new Error('an export is no answer to a POST')
    return { body: done.body, status: done.status ?? status, headers: done.headers ?? {} }
  })
  return replayed ? { ...result, headers: { ...result.headers, 'idempotency-replayed': 'true' } } : result
}

function clientOf(c: Context<HttpEnv>): Client {
  const { access, exports } = c.get('matched').route
  const { kind } = access
  const internal = kind === 'adapter' || kind === 'worker'
  return {
    requestId: c.get('requestId'),
    ip: (c.env?.incoming?.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:(?=\d+\.)/, ''),
    userAgent: c.req.header('user-agent') ?? null,
    host: c.get('host'),
    cookie: internal ? null : readSessionCookie(c.req.header('cookie')),
    target: c.req.url.slice(new URL(c.req.url).origin.length),
    format: exports === true ? formatOf(c) : 'json',
  }
}

/** JSON unless something else is preferred that there is. */
function formatOf(c: Context<HttpEnv>): Client['format'] {
  const supports = ['application/json', EXPORT_TYPES.ndjson, EXPORT_TYPES.csv]
  const type = accepts(c, { header: 'Accept', supports, default: 'application/json' })
  return type === EXPORT_TYPES.csv ? 'csv' : type === EXPORT_TYPES.ndjson ? 'ndjson' : 'json'
}
