import type { Context, Handler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { readSessionCookie } from '../cookies.ts'
import type { Client, HttpEnv } from '../types.ts'

/** Calls the row's handler and sends what it answers. */
export const answer = (): Handler<HttpEnv> => async (c) => {
  const { handler, route } = c.get('matched')
  const identity = c.get('identity')
  const result = await handler({
    principal: identity?.principal ?? null,
    session: identity?.session ?? null,
    params: c.get('params'),
    query: c.get('query'),
    body: c.get('body'),
    client: clientOf(c),
  })
  for (const [name, value] of Object.entries(result.headers ?? {})) c.header(name, value)
  const status = result.status ?? route.status
  return status === 204 ? c.body(null, 204) : c.json(result.body as object, status as ContentfulStatusCode)
}

function clientOf(c: Context<HttpEnv>): Client {
  const { kind } = c.get('matched').route.access
  const internal = kind === 'adapter' || kind === 'worker'
  return {
    requestId: c.get('requestId'),
    ip: (c.env?.incoming?.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:(?=\d+\.)/, ''),
    userAgent: c.req.header('user-agent') ?? null,
    host: c.get('host'),
    cookie: internal ? null : readSessionCookie(c.req.header('cookie')),
  }
}
