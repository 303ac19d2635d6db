import { actorOf, type Clock, ServiceError } from '@service/domain'
import type { RouteId } from '@service/wire'
import type { MiddlewareHandler } from 'hono'
import type { Log } from '../../log.ts'
import type { HttpEnv, Identity, Matched } from '../types.ts'

export type RequestObserver = (request: {
  readonly route: RouteId | 'unknown'
  readonly method: string
  readonly status: number
  readonly seconds: number
}) => void

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** One log line a request, with the route's template and never the raw path; failures of ours with their stack. */
export const observe =
  (deps: { log: Log; clock: Clock; onRequest: RequestObserver }): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const started = deps.clock().getTime()
    await next()
    const seconds = (deps.clock().getTime() - started) / 1000
    // Unset when an earlier check ended the request.
    const matched: Matched | undefined = c.get('matched')
    const method = METHODS.has(c.req.method) ? c.req.method : 'other'
    const line = {
      request_id: c.get('requestId'),
      method,
      route: matched?.route.path ?? 'unknown',
      status: c.res.status,
      ms: Math.round(seconds * 1000),
      ...actorFields(c.get('identity')),
    }
    deps.onRequest({ route: matched?.id ?? 'unknown', method, status: c.res.status, seconds })
    if (c.error === undefined && matched?.route.path.startsWith('/health/')) return
    if (c.res.status >= 500) deps.log.error({ ...line, err: c.error }, 'request failed')
    else deps.log.info({ ...line, ...codeField(c.error) }, 'request')
  }

const codeField = (error: Error | undefined) => (error instanceof ServiceError ? { code: error.code } : {})

function actorFields(identity: Identity | undefined): { actor?: string; tenant_id?: string } {
  if (identity === undefined || identity === null) return {}
  const { principal } = identity
  const tenantId = 'tenantId' in principal ? principal.tenantId : null
  return { actor: actorOf(principal).id, ...(tenantId === null ? {} : { tenant_id: tenantId }) }
}
