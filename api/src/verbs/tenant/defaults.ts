import { PROFILES } from '@service/domain'
import type { TenantConfigView, TenantCreate, TenantOnboard } from '@service/wire'
import type { Provisioning } from '../../config/index.ts'

export type LlmSettings = {
  readonly provider: string
  readonly baseUrl: string
  readonly model: string
  readonly apiKey: string | null
}

/** The LLM of a new tenant: what the creator names, else the install's defaults; the key is only ever the tenant's own. */
export function llmSettings(input: TenantCreate, defaults: Provisioning['llm']): LlmSettings {
  return {
    provider: input.llm.provider ?? defaults.provider,
    baseUrl: input.llm.base_url ?? defaults.baseUrl,
    model: input.llm.model ?? defaults.model,
    apiKey: input.llm.api_key ?? null,
  }
}

/** The rest of the configuration, with the defaults of S and of the profile (decisions 3.2 and 3.3). */
export function tenantConfig(input: TenantCreate, llmBaseUrl: string): TenantConfigView {
  const dashboard = input.components.wazuh.dashboard.enabled ?? PROFILES[input.profile].dashboard
  const llmHosts = llmBaseUrl === '' ? [] : [new URL(llmBaseUrl).hostname]
  return {
    contact_email: input.contact_email ?? null,
    integrations: { external_cortex_url: input.integrations.external_cortex_url },
    components: {
      linuxep: { enabled: input.components.linuxep.enabled },
      wazuh: { dashboard: { enabled: dashboard } },
    },
    wazuh_ingress: { ...input.wazuh_ingress },
    runs_worker: { ...input.runs_worker },
    network: { allowed_llm_hosts: input.network.allowed_llm_hosts ?? llmHosts },
    triage: { ...input.triage },
  }
}

/** The short form, as the long one (decision 3.3). */
export function createFromOnboard(input: TenantOnboard): Record<string, unknown> {
  const llm = {
    ...(input.llm_api_key === undefined ? {} : { api_key: input.llm_api_key }),
    ...(input.llm_base_url === undefined ? {} : { base_url: input.llm_base_url }),
    ...(input.llm_model === undefined ? {} : { model: input.llm_model }),
  }
  const branding = {
    ...(input.branding_app_name === undefined ? {} : { app_name: input.branding_app_name }),
    ...(input.branding_primary_color === undefined ? {} : { primary_color: input.branding_primary_color }),
  }
  return {
    slug: input.slug,
    display_name: input.display_name,
    profile: input.profile,
    ...(input.contact_email === undefined ? {} : { contact_email: input.contact_email }),
    llm,
    branding,
  }
}
