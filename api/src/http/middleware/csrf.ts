import { ServiceError } from '@service/domain'
import type { MiddlewareHandler } from 'hono'
import { passesCsrf } from '../csrf.ts'
import type { HttpEnv } from '../types.ts'

/** Routes for service tokens never read cookies, so nothing can be forged there. */
export const csrf = (): MiddlewareHandler<HttpEnv> => async (c, next) => {
  const { kind } = c.get('matched').route.access
  const headers = { origin: c.req.header('origin'), referer: c.req.header('referer') }
  if (kind !== 'adapter' && kind !== 'worker' && !passesCsrf(c.req.method, headers, c.get('host').origin))
    throw new ServiceError('csrf_failed')
  await next()
}
