import type { TenantCondition, TenantFailure, TenantStepRecord } from '@service/crds'
import { LIFECYCLE_KINDS, PROFILE_NAMES, TENANT_STATES } from '@service/domain'
import type { LifecycleKind, ProfileName, TenantState } from '@service/domain'
import type { TenantConfigView } from '@service/wire'
import { sql } from 'drizzle-orm'
import {
  bigint,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { createdAt, moment, oneOf, tenantId, updatedAt } from './columns.ts'

/** Row-level security by `id` (decision 8b). */
export const tenants = pgTable(
  'tenants',
  {
    id: uuid('id').primaryKey(),
    slug: text('slug').notNull(),
    displayName: text('display_name').notNull(),
    profile: text('profile').$type<ProfileName>().notNull(),
    placement: text('placement').$type<'cluster' | 'remote'>().notNull(),
    state: text('state').$type<TenantState>().notNull(),
    stateReason: text('state_reason'),
    stateChangedAt: moment('state_changed_at').notNull().defaultNow(),
    suspendedFrom: text('suspended_from').$type<TenantState>(),
    decommissionedFrom: text('decommissioned_from').$type<TenantState>(),
    error: jsonb('error').$type<TenantFailure>(),
    /** Counts config revisions (decision 3.11). */
    generation: integer('generation').notNull().default(1),
    /** `spec.revision` of the CR (decision 8.2). */
    specRevision: bigint('spec_revision', { mode: 'number' }).notNull().default(1),
    /** The revision of the last change of state by a verb (decision 8.4). */
    stateRevision: bigint('state_revision', { mode: 'number' }).notNull().default(1),
    secretsRevision: integer('secrets_revision').notNull().default(1),
    retryToken: text('retry_token').notNull().default(''),
    /** Tokens with another version are dead (decision 2.11). */
    tokenVersion: integer('token_version').notNull().default(1),
    /** The part of the configuration without branding and LLM, as the wire shows it. */
    config: jsonb('config').$type<TenantConfigView>().notNull(),
    graceUntil: moment('grace_until'),
    deletedAt: moment('deleted_at'),
    purgeAfter: moment('purge_after'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    // Free again at the soft delete (decision 3.1).
    uniqueIndex('tenants_slug_live')
      .on(table.slug)
      .where(sql`${table.deletedAt} is null`),
    index('tenants_newest').on(table.createdAt.desc().nullsFirst(), table.id.desc().nullsFirst()),
    oneOf('tenants_state', table.state, TENANT_STATES),
    oneOf('tenants_suspended_from', table.suspendedFrom, TENANT_STATES),
    oneOf('tenants_decommissioned_from', table.decommissionedFrom, TENANT_STATES),
    oneOf('tenants_profile', table.profile, PROFILE_NAMES),
    oneOf('tenants_placement', table.placement, ['cluster', 'remote']),
  ],
)

/** No cascade: what goes with a tenant is deleted in order, and counted, by the job that purges it. */
const ofTenant = (name: string, column: AnyPgColumn) =>
  foreignKey({ name, columns: [column], foreignColumns: [tenants.id] })

/** What the CR's status said last, for reading; the projector writes it. */
export const tenantStatuses = pgTable(
  'tenant_statuses',
  {
    tenantId: tenantId().primaryKey(),
    crUid: text('cr_uid'),
    observedRevision: bigint('observed_revision', { mode: 'number' }).notNull().default(0),
    conditions: jsonb('conditions').$type<TenantCondition[]>().notNull(),
    steps: jsonb('steps').$type<TenantStepRecord[]>().notNull(),
    updatedAt: updatedAt(),
  },
  (table) => [ofTenant('tenant_statuses_tenant', table.tenantId)],
)

/** S TenantInstallation; decision 3.5. */
export const tenantInstallations = pgTable(
  'tenant_installations',
  {
    id: uuid('id').notNull(),
    tenantId: tenantId(),
    releaseName: text('release_name').notNull(),
    namespace: text('namespace').notNull(),
    chartRef: text('chart_ref').notNull(),
    chartVersion: text('chart_version'),
    desiredChartVersion: text('desired_chart_version').notNull(),
    revision: integer('revision'),
    status: text('status'),
    valuesDigest: text('values_digest'),
    manifestDigest: text('manifest_digest'),
    installedAt: moment('installed_at'),
    updatedAt: updatedAt(),
    lastError: text('last_error'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('tenant_installations_one').on(table.tenantId),
    ofTenant('tenant_installations_tenant', table.tenantId),
  ],
)

/** A reference to a cluster Secret, never material (S TenantSecret). */
export const tenantSecrets = pgTable(
  'tenant_secrets',
  {
    id: uuid('id').notNull(),
    tenantId: tenantId(),
    namespace: text('namespace').notNull(),
    name: text('name').notNull(),
    versionLabel: text('version_label').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('tenant_secrets_name').on(table.tenantId, table.namespace, table.name),
    ofTenant('tenant_secrets_tenant', table.tenantId),
  ],
)

/** Append-only (S); unique on (tenant, CR uid, seq) for entries of the journal (decision 8.3). No foreign key (8b). */
export const tenantLifecycleEvents = pgTable(
  'tenant_lifecycle_events',
  {
    id: uuid('id').notNull(),
    tenantId: tenantId(),
    at: moment('at').notNull().defaultNow(),
    kind: text('kind').$type<LifecycleKind>().notNull(),
    fromState: text('from_state').$type<TenantState>(),
    toState: text('to_state').$type<TenantState>(),
    actorId: text('actor_id').notNull(),
    details: jsonb('details').$type<Record<string, unknown>>().notNull(),
    crUid: text('cr_uid'),
    journalSeq: bigint('journal_seq', { mode: 'number' }),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    uniqueIndex('tenant_lifecycle_events_journal')
      .on(table.tenantId, table.crUid, table.journalSeq)
      .where(sql`${table.crUid} is not null`),
    index('tenant_lifecycle_events_newest').on(
      table.tenantId,
      table.at.desc().nullsFirst(),
      table.id.desc().nullsFirst(),
    ),
    oneOf('tenant_lifecycle_events_kind', table.kind, LIFECYCLE_KINDS),
    oneOf('tenant_lifecycle_events_from', table.fromState, TENANT_STATES),
    oneOf('tenant_lifecycle_events_to', table.toState, TENANT_STATES),
  ],
)

/** Heartbeats have a table of their own (decision 8b), so that they never touch `tenants`. */
export const tenantHeartbeats = pgTable(
  'tenant_heartbeats',
  {
    tenantId: tenantId().primaryKey(),
    version: text('version').notNull(),
    health: text('health').notNull(),
    metrics: jsonb('metrics').$type<Record<string, unknown>>(),
    lastHeartbeatAt: moment('last_heartbeat_at').notNull(),
  },
  (table) => [ofTenant('tenant_heartbeats_tenant', table.tenantId)],
)

/** S IntegrationConfig. */
export const integrationConfigs = pgTable(
  'integration_configs',
  {
    tenantId: tenantId().primaryKey(),
    llmProvider: text('llm_provider').notNull(),
    llmBaseUrl: text('llm_base_url').notNull(),
    llmModel: text('llm_model').notNull(),
    /** The authoritative store of the tenant's LLM key (S). */
    llmApiKeyPlain: text('llm_api_key_plain'),
    externalCortexUrl: text('external_cortex_url').notNull().default(''),
    updatedAt: updatedAt(),
  },
  (table) => [ofTenant('integration_configs_tenant', table.tenantId)],
)

/** S BrandingConfig. */
export const brandingConfigs = pgTable(
  'branding_configs',
  {
    tenantId: tenantId().primaryKey(),
    appName: text('app_name'),
    faviconUrl: text('favicon_url'),
    logoUrl: text('logo_url'),
    primaryColor: text('primary_color'),
    secondaryColor: text('secondary_color'),
    updatedAt: updatedAt(),
  },
  (table) => [ofTenant('branding_configs_tenant', table.tenantId)],
)

/** Dirty marks: a row here means that the CR may not say what the tenant row says. Only the bypass role reads it. */
export const reconcileQueue = pgTable(
  'reconcile_queue',
  {
    tenantId: tenantId().primaryKey(),
    markedAt: moment('marked_at').notNull().defaultNow(),
    notBefore: moment('not_before').notNull().defaultNow(),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
  },
  (table) => [
    index('reconcile_queue_due').on(table.notBefore),
    ofTenant('reconcile_queue_tenant', table.tenantId),
  ],
)

/** The adapter's place in its source (decision 5.2). */
export const adapterCheckpoints = pgTable(
  'adapter_checkpoints',
  {
    tenantId: tenantId(),
    source: text('source').notNull(),
    cursorTs: moment('cursor_ts'),
    cursorEventId: text('cursor_event_id'),
    batchSeq: bigint('batch_seq', { mode: 'number' }).notNull().default(0),
    droppedTotal: bigint('dropped_total', { mode: 'number' }).notNull().default(0),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.source] }),
    ofTenant('adapter_checkpoints_tenant', table.tenantId),
  ],
)
