import type { Clock, Principal, UserPrincipal } from '@service/domain'
import type { Database } from '../../db/database.ts'
import { guardMssp, guardTenant } from '../guard.ts'

export type UserContext = {
  readonly db: Database
  readonly clock: Clock
  /** Proxy mode has no passwords. */
  readonly authMode: 'internal' | 'proxy'
  readonly hashPassword: (password: string) => Promise<string>
}

/** Who asks, from which request. */
export type Caller = { readonly principal: Principal; readonly requestId: string | null }

/** Each side manages its own users and never the other's: the caller's own tenant, or none, is the scope. */
export function guardUsers(principal: Principal, capability: 'user.read' | 'user.write'): UserPrincipal {
  if (principal.kind === 'user' && principal.audience === 'mssp') {
    guardMssp(principal, capability)
    return principal
  }
  guardTenant(principal, capability)
  return principal
}
