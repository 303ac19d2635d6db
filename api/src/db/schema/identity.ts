import type { Role } from '@service/domain'
import { boolean, customType, inet, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, moment, updatedAt } from './columns.ts'

const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })

/** Both sides' users; `tenant_id` decides the side (S). Strict policy on `tenant_id` (decision 8b). */
export const users = pgTable('users', {
  id: uuid('id').primaryKey(),
  tenantId: uuid('tenant_id'),
  /** Lower case. */
  email: text('email').notNull(),
  displayName: text('display_name').notNull(),
  role: text('role').$type<Role>().notNull(),
  active: boolean('active').notNull().default(true),
  lastLoginAt: moment('last_login_at'),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
})

/** No grants: reached through functions only (decision 8b). */
export const passwordCredentials = pgTable('password_credentials', {
  userId: uuid('user_id').primaryKey(),
  passwordHash: text('password_hash').notNull(),
  mustChange: boolean('must_change').notNull().default(false),
  updatedAt: updatedAt(),
  lastUsedAt: moment('last_used_at'),
  consecutiveFailures: integer('consecutive_failures').notNull().default(0),
  windowStartedAt: moment('window_started_at'),
  lockedUntil: moment('locked_until'),
})

/** The shadow of the failure columns for unknown e-mails (decision 2.2); bounded and swept. No grants. */
export const loginShadows = pgTable('login_shadows', {
  emailHmac: bytea('email_hmac').primaryKey(),
  consecutiveFailures: integer('consecutive_failures').notNull().default(0),
  windowStartedAt: moment('window_started_at'),
  lockedUntil: moment('locked_until'),
  updatedAt: updatedAt(),
})

/** The row is the truth, the cookie holds its id (S "Session and credential records"). No grants. */
export const sessions = pgTable('sessions', {
  id: uuid('id').primaryKey(),
  userId: uuid('user_id').notNull(),
  tenantContext: uuid('tenant_context'),
  pinnedUntil: moment('pinned_until'),
  createdAt: createdAt(),
  lastSeenAt: moment('last_seen_at').notNull().defaultNow(),
  absoluteExpiry: moment('absolute_expiry').notNull(),
  idleExpiry: moment('idle_expiry').notNull(),
  revokedAt: moment('revoked_at'),
  ipCreated: inet('ip_created'),
  userAgent: text('user_agent'),
})
