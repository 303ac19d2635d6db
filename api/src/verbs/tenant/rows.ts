import { createHmac } from 'node:crypto'
import type { TenantCondition, TenantStepRecord } from '@service/crds'
import { STEPS, timestamp } from '@service/domain'
import type { BrandingRead, Tenant, TenantDetail } from '@service/wire'
import type * as v from 'valibot'
import type {
  brandingConfigs,
  integrationConfigs,
  tenantHeartbeats,
  tenantInstallations,
  tenants,
  tenantStatuses,
} from '../../db/schema/index.ts'

export type TenantRow = typeof tenants.$inferSelect
export type HeartbeatRow = typeof tenantHeartbeats.$inferSelect
export type StatusRow = typeof tenantStatuses.$inferSelect
export type InstallationRow = typeof tenantInstallations.$inferSelect
export type IntegrationRow = typeof integrationConfigs.$inferSelect
export type BrandingRow = typeof brandingConfigs.$inferSelect

const moment = (at: Date | null): string | null => (at === null ? null : timestamp(at))
const again = (text: string | undefined): string | null =>
  text === undefined ? null : timestamp(new Date(text))

/** Decision 3.4. */
export function tenantView(row: TenantRow, heartbeat: HeartbeatRow | null, now: Date): Tenant {
  const { error } = row
  return {
    id: row.id,
    slug: row.slug,
    display_name: row.displayName,
    profile: row.profile,
    placement: row.placement,
    state: row.state,
    state_reason: row.stateReason,
    state_changed_at: timestamp(row.stateChangedAt),
    suspended_from: row.suspendedFrom,
    error:
      error === null
        ? null
        : {
            step: error.step,
            reason: error.reason,
            message: error.message,
            at: timestamp(new Date(error.at)),
          },
    generation: row.generation,
    created_at: timestamp(row.createdAt),
    updated_at: timestamp(row.updatedAt),
    deleted_at: moment(row.deletedAt),
    grace_until: moment(row.graceUntil),
    purge_after: moment(row.purgeAfter),
    runtime: runtimeView(heartbeat, now),
  }
}

function runtimeView(heartbeat: HeartbeatRow | null, now: Date): Tenant['runtime'] {
  const at = heartbeat?.lastHeartbeatAt ?? null
  return {
    version: heartbeat?.version ?? null,
    health: heartbeat?.health ?? null,
    last_heartbeat_at: moment(at),
    heartbeat_age_seconds: at === null ? null : Math.max(0, (now.getTime() - at.getTime()) / 1000),
    metrics: heartbeat?.metrics ?? null,
  }
}

export type DetailRows = {
  readonly tenant: TenantRow
  readonly heartbeat: HeartbeatRow | null
  readonly status: StatusRow | null
  readonly installation: InstallationRow | null
  readonly integration: IntegrationRow | null
  readonly branding: BrandingRow | null
}
export type DetailOptions = {
  readonly now: Date
  readonly customerUrl: string
  readonly fingerprintKey: Uint8Array
  readonly mayReadLlm: boolean
}

export function tenantDetail(rows: DetailRows, options: DetailOptions): TenantDetail {
  const { tenant, status, integration } = rows
  const wazuhHost = tenant.config.wazuh_ingress.hostname
  const view = tenantView(tenant, rows.heartbeat, options.now)
  return {
    ...view,
    error: view.error ?? unobservedError(tenant, status, options.now),
    conditions: (status?.conditions ?? []).map(conditionView),
    installation: rows.installation === null ? null : installationView(rows.installation),
    endpoints: {
      customer_url: options.customerUrl,
      wazuh_host: wazuhHost === '' ? null : wazuhHost,
      events_port: null,
      enrollment_port: null,
    },
    llm: integration !== null && options.mayReadLlm ? llmView(integration, options.fingerprintKey) : null,
    branding: brandingView(rows.branding, tenant.displayName),
    config: tenant.config,
    steps: stepViews(status?.steps ?? []),
  }
}

/** An operator that works takes up a revision within seconds. */
const UNOBSERVED_MS = 120_000

/**
 * What nobody can write into the resource: that the operator has not taken up the last order for long, because it does
 * not run, or may not read or write Tenants. Seen at each read, and gone when the operator is back.
 */
export function unobservedError(
  tenant: Pick<TenantRow, 'specRevision' | 'updatedAt' | 'deletedAt'>,
  status: Pick<StatusRow, 'observedRevision' | 'conditions'> | null,
  now: Date,
): Tenant['error'] {
  const behind = tenant.specRevision > (status?.observedRevision ?? 0)
  if (!behind || tenant.deletedAt !== null) return null
  if (now.getTime() - tenant.updatedAt.getTime() < UNOBSERVED_MS) return null
  // It has looked, and says itself why it goes no further.
  const told = status?.conditions.some(({ type, status: is, reason }) =>
    type === 'Stalled' ? is === 'True' : reason === 'Paused',
  )
  if (told === true) return null
  const at = timestamp(tenant.updatedAt)
  const message =
    `The operator has not taken up the order of ${at}: it does not run, does not reach the cluster, or may not ` +
    'read Tenants or write their status. Its log tells which.'
  return { step: 'namespace', reason: 'NotObserved', message, at }
}

const conditionView = (condition: TenantCondition): TenantDetail['conditions'][number] => ({
  type: condition.type,
  status: condition.status,
  reason: condition.reason,
  message: condition.message,
  last_transition_time: timestamp(new Date(condition.lastTransitionTime)),
  observed_generation: condition.observedGeneration,
})

/** All steps in their order; one that has not begun waits. */
function stepViews(records: readonly TenantStepRecord[]): TenantDetail['steps'] {
  return STEPS.map((step) => {
    const record = records.find((candidate) => candidate.step === step)
    return {
      step,
      status: record?.status ?? 'waiting',
      started_at: again(record?.startedAt),
      finished_at: again(record?.finishedAt),
      message: record?.message ?? null,
    }
  })
}

function installationView(row: InstallationRow): NonNullable<TenantDetail['installation']> {
  return {
    id: row.id,
    release_name: row.releaseName,
    namespace: row.namespace,
    chart_ref: row.chartRef,
    chart_version: row.chartVersion,
    desired_chart_version: row.desiredChartVersion,
    revision: row.revision,
    status: row.status,
    values_digest: row.valuesDigest,
    manifest_digest: row.manifestDigest,
    installed_at: moment(row.installedAt),
    updated_at: timestamp(row.updatedAt),
    last_error: row.lastError,
    agent: null,
  }
}

function llmView(row: IntegrationRow, fingerprintKey: Uint8Array): NonNullable<TenantDetail['llm']> {
  const key = row.llmApiKeyPlain
  return {
    provider: row.llmProvider,
    base_url: row.llmBaseUrl,
    model: row.llmModel,
    has_api_key: key !== null,
    key_fingerprint: key === null ? null : fingerprint(key, fingerprintKey),
    updated_at: timestamp(row.updatedAt),
  }
}

/** Tells keys apart without telling anything about them; keyed, so that guesses cannot be tried offline. */
const fingerprint = (secret: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(secret).digest('hex').slice(0, 12)

export const brandingView = (
  row: BrandingRow | null,
  displayName: string,
): v.InferOutput<typeof BrandingRead> => ({
  app_name: row?.appName ?? displayName,
  favicon_url: row?.faviconUrl ?? null,
  logo_url: row?.logoUrl ?? null,
  primary_color: row?.primaryColor ?? null,
  secondary_color: row?.secondaryColor ?? null,
})
