import {
  audienceOfRole,
  type Capability,
  capabilitiesOf,
  type MsspCapability,
  type MsspPrincipal,
  needsPin,
  type Principal,
  ServiceError,
  type TenantCapability,
  type TenantPrincipal,
} from '@service/domain'
import type { Access } from '@service/wire'

/** The side or the kind of token that an operation is for. Anonymous callers are turned away earlier. */
export function guardAudience(principal: Principal, access: Access): void {
  const allowed =
    access.kind === 'public' ||
    (access.kind === 'session' ? principal.kind === 'user' : access.kind === audienceOf(principal))
  if (!allowed) throw new ServiceError('wrong_audience')
}

/** The one capability that an operation names (decision 2.8). */
export function guardCapability(principal: Principal, access: Access): void {
  const needed = 'capability' in access ? access.capability : null
  if (needed !== null && !hasCapability(principal, needed)) throw new ServiceError('capability_missing')
}

/** An analyst acts only in a tenant that the session has entered (decision 5.10). */
export function guardPin(principal: Principal, access: Access): void {
  if (access.kind !== 'mssp' || access.capability === null) return
  if (principal.kind !== 'user' || principal.audience !== 'mssp' || principal.currentTenant !== null) return
  if (needsPin(principal.role, access.capability)) throw new ServiceError('tenant_pin_required')
}

/** Audience, capability and pin together, for the verbs of the MSSP side. */
export function guardMssp(
  principal: Principal,
  capability: MsspCapability,
): asserts principal is MsspPrincipal {
  const access = { kind: 'mssp', capability } as const
  guardAudience(principal, access)
  guardCapability(principal, access)
  guardPin(principal, access)
}

/** Audience and capability together, for the verbs of the tenant side. */
export function guardTenant(
  principal: Principal,
  capability: TenantCapability,
): asserts principal is TenantPrincipal {
  const access = { kind: 'tenant', capability } as const
  guardAudience(principal, access)
  guardCapability(principal, access)
}

export const hasCapability = (principal: Principal, capability: Capability): boolean =>
  principal.kind === 'user' && capabilitiesOf(principal.role).includes(capability)

/** A user's side follows from the role, so that a principal cannot claim another one. */
const audienceOf = (principal: Principal): string =>
  principal.kind === 'user' ? audienceOfRole(principal.role) : principal.kind
