import { MSSP_ROLES, ROLES, TENANT_ROLES } from '@service/domain'
import * as v from 'valibot'
import { UserEmail } from './identity.ts'
import { page, pageQuery, queryChoice, repeatable } from './list.ts'
import { strictObject } from './object.ts'
import { text, timestamp, uuid } from './text.ts'

/** A user as administrators see one (decision 4). */
export const User = v.object({
  id: uuid,
  email: v.string(),
  display_name: v.string(),
  role: v.picklist(ROLES),
  tenant_id: v.nullable(uuid),
  active: v.boolean(),
  must_change: v.boolean(),
  last_login_at: v.nullable(timestamp),
  created_at: timestamp,
})
export type User = v.InferOutput<typeof User>

/** The password stands in the first answer only; `null` in a replay and in proxy mode, which has no passwords. */
export const UserCreated = v.object({ ...User.entries, temporary_password: v.nullable(v.string()) })
export type UserCreated = v.InferOutput<typeof UserCreated>

export const UserList = page(User)

const displayName = text(1, 255)
const userCreate = <const R extends readonly [string, ...string[]]>(roles: R) =>
  strictObject({ email: UserEmail, role: v.picklist(roles), display_name: v.optional(displayName) })
const userUpdate = <const R extends readonly [string, ...string[]]>(roles: R) =>
  v.pipe(
    strictObject({ role: v.optional(v.picklist(roles)), display_name: v.optional(displayName) }),
    v.check((change) => Object.keys(change).length > 0, 'must name role or display_name'),
    v.metadata({ minProperties: 1 }),
  )
const userListQuery = <const R extends readonly [string, ...string[]]>(roles: R) =>
  strictObject({
    ...pageQuery,
    role: repeatable(v.picklist(roles)),
    active: queryChoice,
    q: v.optional(text(1, 255)),
  })

/** Each side has its own users and its own roles; `display_name` is the address unless given. */
export const MsspUserCreate = userCreate(MSSP_ROLES)
export const TenantUserCreate = userCreate(TENANT_ROLES)
export type UserCreate = v.InferOutput<typeof MsspUserCreate> | v.InferOutput<typeof TenantUserCreate>

export const MsspUserUpdate = userUpdate(MSSP_ROLES)
export const TenantUserUpdate = userUpdate(TENANT_ROLES)
export type UserUpdate = v.InferOutput<typeof MsspUserUpdate> | v.InferOutput<typeof TenantUserUpdate>

export const MsspUserListQuery = userListQuery(MSSP_ROLES)
export const TenantUserListQuery = userListQuery(TENANT_ROLES)
export type UserListQuery =
  | v.InferOutput<typeof MsspUserListQuery>
  | v.InferOutput<typeof TenantUserListQuery>

/** S "AdminResetResponse"; the password is `null` in a replay. */
export const AdminResetResponse = v.object({
  user_id: uuid,
  temporary_password: v.nullable(v.string()),
  must_change: v.boolean(),
})
export type AdminResetResponse = v.InferOutput<typeof AdminResetResponse>
