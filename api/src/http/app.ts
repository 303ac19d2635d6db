import type { Clock } from '@service/domain'
import { Hono } from 'hono'
import type { Log } from '../log.ts'
import type { AuthenticationDependencies } from './middleware/identity.ts'
import { identify } from './middleware/identity.ts'
import { authorize, enter, requireTarget } from './middleware/access.ts'
import { readInput, type TargetExists } from './middleware/input.ts'
import { findHost, findRoute } from './middleware/find.ts'
import { csrf } from './middleware/csrf.ts'
import { answer, type Once } from './middleware/answer.ts'
import { observe, type RequestObserver } from './middleware/observe.ts'
import { requestId } from './middleware/request-id.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { problemResponse } from './problem.ts'
import { createRouteTable } from './route-table.ts'
import type { HostTable } from './hosts.ts'
import type { Handlers, HttpEnv } from './types.ts'

export type HttpDependencies = AuthenticationDependencies & {
  readonly hosts: HostTable
  readonly cookieSecure: boolean
  readonly clock: Clock
  readonly log: Log
  readonly handlers: Handlers
  readonly onRequest: RequestObserver
  /** Whether the caller could see what a path names. */
  readonly targetExists: TargetExists
  readonly once: Once
  /** Turns a failure of what stands behind the API into an expected one (503); anything else comes back as it is. */
  readonly explain: (error: unknown) => unknown
}

/** The whole API. The order of the checks is decision 1.4: each line may end the request, and the first one wins. */
export function createApp(deps: HttpDependencies): Hono<HttpEnv> {
  const table = createRouteTable(deps.handlers, deps.identityProxy === null ? 'internal' : 'proxy')
  const app = new Hono<HttpEnv>()

  app.use(requestId()) // every answer carries an id
  app.use(securityHeaders(deps.cookieSecure))
  app.use(observe(deps)) // one log line and one measurement a request
  app.use(findHost(deps.hosts))
  app.use(findRoute(table)) // 404 not_found, 405 method_not_allowed
  app.use(csrf()) // 403 csrf_failed
  app.use(identify(deps)) // 401 unauthenticated, invalid_token; 403 untrusted_proxy
  app.use(authorize()) // 403 wrong_audience, password_change_required, capability_missing, tenant_pin_required
  app.use(enter(deps.identityProxy)) // 404 not_found of a tenant that a request names
  app.use(requireTarget()) // 404 not_found of what cannot be an id
  app.use(readInput(deps.targetExists)) // 404 not_found, 413, 415, 400, 422
  app.all('*', answer(deps.once)) // 412, 409 and the deed itself

  app.onError((error, c) => {
    const explained = deps.explain(error)
    const response = problemResponse(explained, { instance: c.req.path, requestId: c.get('requestId') })
    return response
  })
  return app
}
