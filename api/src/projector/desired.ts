import { API_VERSION, type Tenant, type TenantSpec } from '@service/crds'
import { KIND, NAMESPACE_LABELS, type TenantState } from '@service/domain'
import type { BrandingRow, IntegrationRow, TenantRow } from '../verbs/tenant/rows.ts'

export type InstallIdentity = { readonly msspId: string; readonly installId: string }
export type Pins = { readonly chart: TenantSpec['chart']; readonly images: TenantSpec['images'] }
export type DesiredRows = {
  readonly tenant: TenantRow
  readonly integration: IntegrationRow
  readonly branding: BrandingRow
  /** Version label of the Secret that holds the LLM key. */
  readonly llmKeyVersion: string
}

/** The Tenant resource that the rows want; without status, and without anything secret (decision 8.2). */
export function desiredTenant(rows: DesiredRows, install: InstallIdentity, pins: Pins): Tenant {
  const { tenant } = rows
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      name: tenant.slug,
      labels: {
        [NAMESPACE_LABELS.managedBy]: 'service',
        [NAMESPACE_LABELS.tenantId]: tenant.id,
        [NAMESPACE_LABELS.installId]: install.installId,
      },
    },
    spec: {
      tenantId: tenant.id,
      revision: tenant.specRevision,
      desired: desiredOf(tenant.state),
      retryToken: tenant.retryToken,
      secretsRevision: tenant.secretsRevision,
      placement: tenant.placement,
      profile: tenant.profile,
      displayName: tenant.displayName,
      chart: pins.chart,
      images: pins.images,
      config: configOf(rows, install),
    },
  }
}

/** Without `teardown`, which comes with the end of the grace period, `Decommission` removes nothing. */
function desiredOf(state: TenantState): TenantSpec['desired'] {
  if (state === 'decommissioning') return 'Decommission'
  return state === 'suspended' ? 'Suspend' : 'Run'
}

function configOf(rows: DesiredRows, install: InstallIdentity): TenantSpec['config'] {
  const { integration, branding } = rows
  const { config, displayName } = rows.tenant
  return {
    msspId: install.msspId,
    installId: install.installId,
    branding: {
      appName: branding.appName ?? displayName,
      logoUrl: branding.logoUrl ?? '',
      favicon: branding.faviconUrl ?? '',
      primaryColor: branding.primaryColor ?? '',
      secondaryColor: branding.secondaryColor ?? '',
    },
    llm: {
      provider: integration.llmProvider,
      baseUrl: integration.llmBaseUrl,
      model: integration.llmModel,
      keyVersion: rows.llmKeyVersion,
    },
    integrations: { externalCortexUrl: integration.externalCortexUrl },
    components: {
      linuxep: { enabled: config.components.linuxep.enabled },
      wazuh: { dashboard: { enabled: config.components.wazuh.dashboard.enabled } },
    },
    wazuhIngress: { mode: config.wazuh_ingress.mode, hostname: config.wazuh_ingress.hostname },
    runsWorker: {
      concurrency: config.runs_worker.concurrency,
      drainSeconds: config.runs_worker.drain_seconds,
    },
    network: { allowedLlmHosts: [...config.network.allowed_llm_hosts] },
    triage: { autoClose: config.triage.auto_close },
  }
}
