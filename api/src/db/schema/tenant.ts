import type { TenantCondition, TenantFailure, TenantStepRecord } from '@service/crds'
import type { LifecycleKind, ProfileName, TenantState } from '@service/domain'
import type { TenantConfigView } from '@service/wire'
import { bigint, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, moment, tenantId, updatedAt } from './columns.ts'

/** Row-level security by `id` (decision 8b). */
export const tenants = pgTable('tenants', {
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
})

/** What the CR's status said last, for reading; the projector writes it. */
export const tenantStatuses = pgTable('tenant_statuses', {
  tenantId: tenantId().primaryKey(),
  crUid: text('cr_uid'),
  observedRevision: bigint('observed_revision', { mode: 'number' }).notNull().default(0),
  conditions: jsonb('conditions').$type<TenantCondition[]>().notNull(),
  steps: jsonb('steps').$type<TenantStepRecord[]>().notNull(),
  updatedAt: updatedAt(),
})

/** S TenantInstallation; decision 3.5. */
export const tenantInstallations = pgTable('tenant_installations', {
  id: uuid('id').primaryKey(),
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
})

/** A reference to a cluster Secret, never material (S TenantSecret). */
export const tenantSecrets = pgTable('tenant_secrets', {
  id: uuid('id').primaryKey(),
  tenantId: tenantId(),
  namespace: text('namespace').notNull(),
  name: text('name').notNull(),
  versionLabel: text('version_label').notNull(),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
})

/** Append-only (S); unique on (tenant, CR uid, seq) for entries of the journal (decision 8.3). No foreign key (8b). */
export const tenantLifecycleEvents = pgTable('tenant_lifecycle_events', {
  id: uuid('id').primaryKey(),
  tenantId: tenantId(),
  at: moment('at').notNull().defaultNow(),
  kind: text('kind').$type<LifecycleKind>().notNull(),
  fromState: text('from_state').$type<TenantState>(),
  toState: text('to_state').$type<TenantState>(),
  actorId: text('actor_id').notNull(),
  details: jsonb('details').$type<Record<string, unknown>>().notNull(),
  crUid: text('cr_uid'),
  journalSeq: bigint('journal_seq', { mode: 'number' }),
})

/** Heartbeats have a table of their own (decision 8b), so that they never touch `tenants`. */
export const tenantHeartbeats = pgTable('tenant_heartbeats', {
  tenantId: tenantId().primaryKey(),
  version: text('version').notNull(),
  health: text('health').notNull(),
  metrics: jsonb('metrics').$type<Record<string, unknown>>(),
  lastHeartbeatAt: moment('last_heartbeat_at').notNull(),
})

/** S IntegrationConfig. */
export const integrationConfigs = pgTable('integration_configs', {
  tenantId: tenantId().primaryKey(),
  llmProvider: text('llm_provider').notNull(),
  llmBaseUrl: text('llm_base_url').notNull(),
  llmModel: text('llm_model').notNull(),
  /** The authoritative store of the tenant's LLM key (S). */
  llmApiKeyPlain: text('llm_api_key_plain'),
  externalCortexUrl: text('external_cortex_url').notNull().default(''),
  updatedAt: updatedAt(),
})

/** S BrandingConfig. */
export const brandingConfigs = pgTable('branding_configs', {
  tenantId: tenantId().primaryKey(),
  appName: text('app_name'),
  faviconUrl: text('favicon_url'),
  logoUrl: text('logo_url'),
  primaryColor: text('primary_color'),
  secondaryColor: text('secondary_color'),
  updatedAt: updatedAt(),
})

/** Dirty marks: a row here means that the CR may not say what the tenant row says. Only the bypass role reads it. */
export const reconcileQueue = pgTable('reconcile_queue', {
  tenantId: tenantId().primaryKey(),
  markedAt: moment('marked_at').notNull().defaultNow(),
  notBefore: moment('not_before').notNull().defaultNow(),
  attempts: integer('attempts').notNull().default(0),
  lastError: text('last_error'),
})

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
  (table) => [primaryKey({ columns: [table.tenantId, table.source] })],
)
