import { ACTOR_PRINCIPALS } from '@service/domain'
import type { ActorPrincipal, AuditAction } from '@service/domain'
import {
  bigint,
  foreignKey,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { createdAt, moment, oneOf, tenantId } from './columns.ts'
import { tenants } from './tenant.ts'

/**
 * The append-only event store (decision 5.7). An event that the adapter sent is an aggregate of its own
 * (`aggregate_type` `source_event`, `seq` 1, `kind` `event.ingested`), unique by its idempotency key.
 */
export const events = pgTable(
  'events',
  {
    id: uuid('id').notNull(),
    tenantId: tenantId(),
    aggregateType: text('aggregate_type').notNull(),
    aggregateId: uuid('aggregate_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    kind: text('kind').notNull(),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('events_idempotency_key').on(table.tenantId, table.idempotencyKey),
    unique('events_aggregate_seq').on(table.tenantId, table.aggregateType, table.aggregateId, table.seq),
    index('events_newest').on(
      table.tenantId,
      table.createdAt.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    foreignKey({ name: 'events_tenant', columns: [table.tenantId], foreignColumns: [tenants.id] }),
  ],
)

/** S "Audit record"; append-only, no foreign key, readable by its tenant (decisions 7 and 8b). */
export const auditLog = pgTable(
  'audit_log',
  {
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
  },
  (table) => [
    index('audit_log_newest').on(table.timestamp.desc().nullsFirst(), table.id.desc().nullsFirst()),
    index('audit_log_of_tenant').on(
      table.tenantId,
      table.timestamp.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    oneOf('audit_log_actor_principal', table.actorPrincipal, ACTOR_PRINCIPALS),
  ],
)
