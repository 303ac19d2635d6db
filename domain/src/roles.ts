/** The eight roles of S "Roles", by side. */
export const MSSP_ROLES = ['platform_admin', 'mssp_admin', 'mssp_manager', 'analyst'] as const
export const TENANT_ROLES = ['tenant_admin', 'tenant_manager', 'tenant_analyst', 'customer_viewer'] as const
export const ROLES = [...MSSP_ROLES, ...TENANT_ROLES] as const

export type MsspRole = (typeof MSSP_ROLES)[number]
export type TenantRole = (typeof TENANT_ROLES)[number]
export type Role = (typeof ROLES)[number]

/** The side a user stands on. The two sides' capabilities never overlap, though their names may (S "Roles"). */
export type Audience = 'mssp' | 'tenant'

export const isMsspRole = (role: Role): role is MsspRole => (MSSP_ROLES as readonly Role[]).includes(role)
export const audienceOfRole = (role: Role): Audience => (isMsspRole(role) ? 'mssp' : 'tenant')
