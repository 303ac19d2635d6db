import type { ActorPrincipal, AuditAction } from '@service/domain'
import { bigint, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, moment, tenantId } from './columns.ts'

/**
 * The append-only event store (decision 5.7). An event that the adapter sent is an aggregate of its own
 * (`aggregate_type` `source_event`, `seq` 1, `kind` `event.ingested`), unique by its idempotency key.
 */
export const events = pgTable('events', {
  id: uuid('id').primaryKey(),
  tenantId: tenantId(),
  aggregateType: text('aggregate_type').notNull(),
  aggregateId: uuid('aggregate_id').notNull(),
  seq: bigint('seq', { mode: 'number' }).notNull(),
  kind: text('kind').notNull(),
  payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
  idempotencyKey: text('idempotency_key').notNull(),
  createdAt: createdAt(),
})

/** S "Audit record"; append-only, no foreign key, readable by its tenant (decisions 7 and 8b). */
export const auditLog = pgTable('audit_log', {
  id: uuid('id').primaryKey(),
  timestamp: moment('timestamp').notNull().defaultNow(),
  tenantId: uuid('tenant_id'),
  actorPrincipal: text('actor_principal').$type<ActorPrincipal>().notNull(),
  actorId: text('actor_id').notNull(),
  action: text('action').$type<AuditAction>().notNull(),
  resourceType: text('resource_type').notNull(),
  resourceId: text('resource_id'),
  before: jsonb('before').$type<Record<string, unknown>>(),
  after: jsonb('after').$type<Record<string, unknown>>(),
  actingAs: uuid('acting_as'),
  requestId: text('request_id'),
  details: jsonb('details').$type<Record<string, unknown>>(),
})
