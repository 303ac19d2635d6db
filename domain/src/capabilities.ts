import type { MsspRole, Role, TenantRole } from './roles.ts'
import { isMsspRole } from './roles.ts'

const ANALYST = [
  'overview.read',
  'tenant.read',
  'case.read',
  'case.write',
  'alert.read',
  'alert.write',
  'review.read',
  'review.decide',
  'engagement.read',
  'fact.read',
  'audit.read',
  'user.read',
  'stream.read',
  'tenant.assume',
  'settings.read',
] as const
const MSSP_MANAGER = [...ANALYST, 'engagement.write', 'fact.write', 'fact.review'] as const
const MSSP_ADMIN = [
  ...MSSP_MANAGER,
  'tenant.write',
  'tenant.upgrade',
  'branding.write',
  'llm.read',
  'llm.write',
  'user.write',
  'agent.issue',
] as const
const PLATFORM_ADMIN = [...MSSP_ADMIN, 'settings.write', 'licence.read', 'platform.admin'] as const

const CUSTOMER_VIEWER = [
  'overview.read',
  'case.read',
  'alert.read',
  'report.read',
  'branding.read',
  'engagement.read',
  'fact.read',
  'audit.read',
  'stream.read',
] as const
const TENANT_ANALYST = [
  ...CUSTOMER_VIEWER,
  'case.write',
  'alert.write',
  'review.read',
  'review.decide',
] as const
const TENANT_MANAGER = [...TENANT_ANALYST, 'engagement.write', 'fact.assert'] as const
const TENANT_ADMIN = [...TENANT_MANAGER, 'user.read', 'user.write', 'llm.read', 'llm.write'] as const

export type MsspCapability = (typeof PLATFORM_ADMIN)[number]
export type TenantCapability = (typeof TENANT_ADMIN)[number]
export type Capability = MsspCapability | TenantCapability

const MSSP: { readonly [R in MsspRole]: readonly MsspCapability[] } = {
  analyst: ANALYST,
  mssp_manager: MSSP_MANAGER,
  mssp_admin: MSSP_ADMIN,
  platform_admin: PLATFORM_ADMIN,
}
const TENANT: { readonly [R in TenantRole]: readonly TenantCapability[] } = {
  customer_viewer: CUSTOMER_VIEWER,
  tenant_analyst: TENANT_ANALYST,
  tenant_manager: TENANT_MANAGER,
  tenant_admin: TENANT_ADMIN,
}

/** The one map, role to capabilities (decision 2.8). The guard compares audience and capability together. */
export const capabilitiesOf = (role: Role): readonly Capability[] =>
  isMsspRole(role) ? MSSP[role] : TENANT[role]

const ACTING: readonly Capability[] = ['case.write', 'alert.write', 'review.decide']

/** Whether a role may use a capability only in a tenant that it has entered (decision 5.10): an analyst who acts. */
export const needsPin = (role: Role, capability: Capability): boolean =>
  role === 'analyst' && ACTING.includes(capability)

/** Sorted, as `permissions` of the Identity shows them (decision 2.5). */
export const permissionsOf = (role: Role): readonly Capability[] => capabilitiesOf(role).toSorted()
