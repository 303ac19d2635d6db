import { MSSP_ROLES, TENANT_ROLES } from '@service/domain'
import type { Role } from '@service/domain'
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  customType,
  foreignKey,
  index,
  inet,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { createdAt, moment, updatedAt } from './columns.ts'
import { tenants } from './tenant.ts'

const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
const listed = (values: readonly string[]) => sql.raw(values.map((value) => `'${value}'`).join(', '))

/** Both sides' users; `tenant_id` decides the side (S). Strict policy on `tenant_id` (decision 8b). */
export const users = pgTable(
  'users',
  {
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
  },
  (table) => [
    // Unique over the install, whatever the case (decision 4).
    uniqueIndex('users_email').on(sql`lower(${table.email})`),
    index('users_newest').on(
      table.tenantId,
      table.createdAt.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    check('users_email_lower', sql`${table.email} = lower(${table.email})`),
    check(
      'users_side',
      sql`case when ${table.tenantId} is null then ${table.role} in (${listed(MSSP_ROLES)}) else ${table.role} in (${listed(TENANT_ROLES)}) end`,
    ),
    foreignKey({ name: 'users_tenant', columns: [table.tenantId], foreignColumns: [tenants.id] }),
  ],
)

/** No grants: reached through functions only (decision 8b). */
export const passwordCredentials = pgTable(
  'password_credentials',
  {
    userId: uuid('user_id').primaryKey(),
    passwordHash: text('password_hash').notNull(),
    mustChange: boolean('must_change').notNull().default(false),
    updatedAt: updatedAt(),
    lastUsedAt: moment('last_used_at'),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    windowStartedAt: moment('window_started_at'),
    lockedUntil: moment('locked_until'),
  },
  (table) => [
    foreignKey({
      name: 'password_credentials_user',
      columns: [table.userId],
      foreignColumns: [users.id],
    }).onDelete('cascade'),
    check('password_credentials_hash', sql`${table.passwordHash} like '$argon2id$%'`),
    check('password_credentials_failures', sql`${table.consecutiveFailures} >= 0`),
  ],
)

/** The shadow of the failure columns for unknown e-mails (decision 2.2); bounded and swept. No grants. */
export const loginShadows = pgTable(
  'login_shadows',
  {
    emailHmac: bytea('email_hmac').primaryKey(),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    windowStartedAt: moment('window_started_at'),
    lockedUntil: moment('locked_until'),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('login_shadows_oldest').on(table.updatedAt),
    check('login_shadows_failures', sql`${table.consecutiveFailures} >= 0`),
  ],
)

/** Answers to requests with an `Idempotency-Key` (decision 1.7). No grants. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    principalId: uuid('principal_id').notNull(),
    /** Of method, path and key. */
    requestHash: bytea('request_hash').notNull(),
    bodyHash: bytea('body_hash').notNull(),
    startedAt: moment('started_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    /** Null while the request runs. */
    status: integer('status'),
    /** Body and headers, without one-time secrets. */
    answer: jsonb('answer'),
  },
  (table) => [
    primaryKey({ columns: [table.principalId, table.requestHash] }),
    index('idempotency_keys_expiry').on(table.expiresAt),
  ],
)

/** The row is the truth, the cookie holds its id (S "Session and credential records"). No grants. */
export const sessions = pgTable(
  'sessions',
  {
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
  },
  (table) => [
    index('sessions_of_user').on(table.userId, table.revokedAt),
    foreignKey({ name: 'sessions_user', columns: [table.userId], foreignColumns: [users.id] }),
  ],
)
