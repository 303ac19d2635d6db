import { ServiceError } from '@service/domain'
import { answersAtAnyHost } from '@service/wire'
import type { MiddlewareHandler } from 'hono'
import { classifyHost, type HostTable } from '../hosts.ts'
import { problemResponse } from '../problem.ts'
import { matchRoute, type RouteTable } from '../route-table.ts'
import type { HttpEnv } from '../types.ts'

export const findHost =
  (table: HostTable): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    c.set('host', classifyHost(c.req.header('host'), table))
    await next()
  }

/**
 * Unknown route 404, known path with another method 405. A host that is not configured has no routes but those that
 * answer at any host: health (decision 1.11) and `/api/internal/*` (decision 2.10).
 */
export const findRoute =
  (table: RouteTable): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const { path, method } = c.req
    if (c.get('host').kind === 'other' && !answersAtAnyHost(path))
      throw new ServiceError('not_found', 'This host is not one of the configured hosts of the service')
    const match = matchRoute(table, method, path)
    if (match.kind === 'unknown_path') throw new ServiceError('not_found', 'There is nothing at this path')
    if (match.kind === 'unknown_method') {
      const place = { instance: path, requestId: c.get('requestId') }
      const response = problemResponse(new ServiceError('method_not_allowed'), place)
      response.headers.set('allow', match.allow.join(', '))
      return response
    }
    c.set('matched', match.matched)
    await next()
    return undefined
  }
