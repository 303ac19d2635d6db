import type { Audience, MsspRole, TenantRole } from './roles.ts'

/** Who acts, proven by a verifier (S "Principals"). Verbs take a principal and never look at headers or cookies. */
export type MsspPrincipal = {
  readonly kind: 'user'
  readonly audience: 'mssp'
  readonly userId: string
  readonly role: MsspRole
  readonly tenantId: null
  /** The tenant that the session has entered (decision 2.6). */
  readonly currentTenant: string | null
  readonly sessionId: string | null
}
export type TenantPrincipal = {
  readonly kind: 'user'
  readonly audience: 'tenant'
  readonly userId: string
  readonly role: TenantRole
  readonly tenantId: string
  readonly sessionId: string | null
}
export type UserPrincipal = MsspPrincipal | TenantPrincipal
export type AdapterPrincipal = {
  readonly kind: 'adapter'
  readonly tenantId: string
  readonly tokenVersion: number
}
export type WorkerPrincipal = {
  readonly kind: 'worker'
  readonly tenantId: string
  readonly tokenVersion: number
}
/** Code of ours that crosses tenants; `reason` goes into the audit row (decision 7). */
export type SystemPrincipal = { readonly kind: 'system'; readonly reason: string }

export type Principal = UserPrincipal | AdapterPrincipal | WorkerPrincipal | SystemPrincipal

/** `actor_principal` of the audit record (S "Audit record"). */
export const ACTOR_PRINCIPALS = ['User', 'Worker', 'System', 'Adapter'] as const
export type ActorPrincipal = (typeof ACTOR_PRINCIPALS)[number]

export type Actor = { readonly principal: ActorPrincipal; readonly id: string }

/** The pair that an audit row carries: user id, `worker`, `system:<reason>`, or the adapter's tenant id. */
export function actorOf(principal: Principal): Actor {
  switch (principal.kind) {
    case 'user':
      return { principal: 'User', id: principal.userId }
    case 'adapter':
      return { principal: 'Adapter', id: principal.tenantId }
    case 'worker':
      return { principal: 'Worker', id: 'worker' }
    case 'system':
      return { principal: 'System', id: `system:${principal.reason}` }
  }
}

/** What a route asks of its caller, before capability (S "Route classes"). */
export type RouteAudience = Audience | 'adapter' | 'worker'
