import { PASSWORD, ROLES } from '@service/domain'
import * as v from 'valibot'
import { strictObject } from './object.ts'
import { Slug } from './tenant.ts'
import { email, text, timestamp, uuid } from './text.ts'

/** Decision 2.5. */
export const Identity = v.object({
  user_id: uuid,
  email: v.string(),
  display_name: v.string(),
  user_type: v.picklist(['mssp', 'tenant']),
  role: v.picklist(ROLES),
  tenant_id: v.nullable(uuid),
  tenant_slug: v.nullable(v.string()),
  current_tenant: v.nullable(uuid),
  current_tenant_slug: v.nullable(v.string()),
  current_tenant_display_name: v.nullable(v.string()),
  current_tenant_expires_at: v.nullable(timestamp),
  must_change: v.boolean(),
  session_expires_at: v.nullable(timestamp),
  auth_mode: v.picklist(['internal', 'proxy']),
  permissions: v.array(v.string()),
})
export type Identity = v.InferOutput<typeof Identity>

/** Decision 2.1. Any text is looked up, so that a malformed address fails like an unknown one. */
export const LoginRequest = strictObject({ email: text(1, 320), password: text(1, PASSWORD.maxLength) })
export type LoginRequest = v.InferOutput<typeof LoginRequest>
export const LoginResponse = v.object({ user: Identity, must_change: v.boolean() })
export type LoginResponse = v.InferOutput<typeof LoginResponse>

/** Decision 2.4: taken verbatim. */
export const PasswordChangeRequest = strictObject({
  old_password: text(1, PASSWORD.maxLength),
  new_password: text(PASSWORD.minLength, PASSWORD.maxLength),
})
export type PasswordChangeRequest = v.InferOutput<typeof PasswordChangeRequest>

/** S "AssumeTenantRequest": neither key leaves the tenant (decision 2.6). */
export const AssumeTenantRequest = strictObject({
  slug: v.optional(v.nullable(Slug)),
  tenant_id: v.optional(v.nullable(uuid)),
})
export type AssumeTenantRequest = v.InferOutput<typeof AssumeTenantRequest>

export const Ok = v.object({ ok: v.literal(true) })

/** An address that becomes a user's e-mail. */
export const UserEmail = email
