import { randomUUID } from 'node:crypto'
import { REQUEST_ID } from '@service/domain'
import type { MiddlewareHandler } from 'hono'
import type { HttpEnv } from '../types.ts'

/** Takes the caller's `X-Request-Id` or makes one, and sends it back (decision 1.6). */
export const requestId = (): MiddlewareHandler<HttpEnv> => async (c, next) => {
  const given = c.req.header('x-request-id')
  const id = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
  c.set('requestId', id)
  await next()
  c.res.headers.set('x-request-id', id)
}
