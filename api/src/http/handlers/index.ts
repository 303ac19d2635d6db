import type { Live, Ready } from '@service/wire'
import type { Handlers } from '../types.ts'
import { type AdapterDependencies, adapterHandlers } from './adapter.ts'
import type { AuditContext } from '../../verbs/audit/list.ts'
import { auditHandlers } from './audit.ts'
import { type AuthDependencies, authHandlers } from './auth.ts'
import { docsHandlers } from './docs.ts'
import { type TenantDependencies, tenantHandlers } from './tenants.ts'
import { userHandlers } from './users.ts'
import type { UserContext } from '../../verbs/user/context.ts'
import { type WorkerDependencies, workerHandlers } from './worker.ts'

export type HandlerDependencies = {
  readonly auth: AuthDependencies
  readonly tenants: TenantDependencies
  readonly users: UserContext
  readonly audit: AuditContext
  readonly adapter: AdapterDependencies
  readonly worker: WorkerDependencies
  /** Of the control plane. */
  readonly version: string
  readonly live: () => Live
  readonly ready: () => Promise<Ready>
}

/** A handler for every row of the route table. They translate; the work is the verbs'. */
export function createHandlers(deps: HandlerDependencies): Handlers {
  return {
    'health.live': async () => ({ body: deps.live() }),
    'health.ready': async () => {
      const body = await deps.ready()
      return { body, status: body.ok ? 200 : 503 }
    },
    ...authHandlers(deps.auth),
    ...tenantHandlers(deps.tenants),
    ...userHandlers(deps.users),
    ...auditHandlers(deps.audit),
    ...adapterHandlers(deps.adapter),
    ...workerHandlers(deps.worker),
    ...docsHandlers(deps.version),
  }
}
