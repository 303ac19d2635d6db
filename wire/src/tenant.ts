import { LIFECYCLE_KINDS, PROFILE_NAMES, SLUG, STEPS, STEP_STATUSES, TENANT_STATES } from '@service/domain'
import * as v from 'valibot'
import { page, pageQuery, queryFlag, repeatable } from './list.ts'
import { strictObject } from './object.ts'
import { email, httpUrl, instant, integer, text, timestamp, uuid } from './text.ts'

export const Slug = v.pipe(
  v.string(),
  v.regex(SLUG, 'must be 1 to 40 lower-case letters, digits and hyphens, beginning with a letter'),
)

const colour = v.nullable(text(0, 16))
/** S "BrandingUpdate": all optional and nullable. */
export const BrandingUpdate = strictObject({
  app_name: v.optional(v.nullable(text(0, 255))),
  favicon_url: v.optional(v.nullable(httpUrl(500))),
  logo_url: v.optional(v.nullable(httpUrl(500))),
  primary_color: v.optional(colour),
  secondary_color: v.optional(colour),
})
/** S "BrandingRead". */
export const BrandingRead = v.object({
  app_name: v.string(),
  favicon_url: v.nullable(v.string()),
  logo_url: v.nullable(v.string()),
  primary_color: v.nullable(v.string()),
  secondary_color: v.nullable(v.string()),
})

const hostname = v.pipe(
  text(0, 253),
  v.regex(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*)?$/,
    'must be a host name in lower case',
  ),
)

const TenantLlm = strictObject({
  provider: v.optional(text(1, 64)),
  base_url: v.optional(httpUrl(500)),
  model: v.optional(text(0, 255)),
  api_key: v.optional(text(1, 4096)),
})

/** Decision 3.3: the tenant configuration; only `slug` and `display_name` have no default. */
export const TenantCreate = strictObject({
  slug: Slug,
  display_name: text(1, 255),
  profile: v.optional(v.picklist(PROFILE_NAMES), 'pilot'),
  placement: v.optional(v.picklist(['cluster', 'remote']), 'cluster'),
  contact_email: v.optional(email),
  branding: v.optional(BrandingUpdate, {}),
  llm: v.optional(TenantLlm, {}),
  integrations: v.optional(strictObject({ external_cortex_url: v.optional(httpUrl(500), '') }), {}),
  components: v.optional(
    strictObject({
      linuxep: v.optional(strictObject({ enabled: v.optional(v.boolean(), false) }), {}),
      wazuh: v.optional(
        strictObject({
          dashboard: v.optional(strictObject({ enabled: v.optional(v.boolean()) }), {}),
        }),
        {},
      ),
    }),
    {},
  ),
  wazuh_ingress: v.optional(
    strictObject({
      mode: v.optional(v.picklist(['loadbalancer', 'edge-haproxy']), 'loadbalancer'),
      hostname: v.optional(hostname, ''),
    }),
    {},
  ),
  runs_worker: v.optional(
    strictObject({
      concurrency: v.optional(integer(1, 32), 1),
      drain_seconds: v.optional(integer(0, 3600), 60),
    }),
    {},
  ),
  network: v.optional(
    strictObject({
      allowed_llm_hosts: v.optional(v.pipe(v.array(hostname), v.maxLength(32, 'must be at most 32 hosts'))),
    }),
    {},
  ),
  triage: v.optional(strictObject({ auto_close: v.optional(v.boolean(), false) }), {}),
})
export type TenantCreate = v.InferOutput<typeof TenantCreate>

/** Decision 3.3. */
export const TenantOnboard = strictObject({
  slug: Slug,
  display_name: text(1, 255),
  profile: v.optional(v.picklist(PROFILE_NAMES), 'pilot'),
  contact_email: v.optional(email),
  llm_api_key: v.optional(text(1, 4096)),
  llm_base_url: v.optional(httpUrl(500)),
  llm_model: v.optional(text(0, 255)),
  branding_app_name: v.optional(text(0, 255)),
  branding_primary_color: v.optional(text(0, 16)),
})
export type TenantOnboard = v.InferOutput<typeof TenantOnboard>

export const Runtime = v.object({
  version: v.nullable(v.string()),
  health: v.nullable(v.string()),
  last_heartbeat_at: v.nullable(timestamp),
  heartbeat_age_seconds: v.nullable(v.number()),
  metrics: v.nullable(v.record(v.string(), v.unknown())),
})

/** Decision 3.4. */
export const Tenant = v.object({
  id: uuid,
  slug: Slug,
  display_name: v.string(),
  profile: v.picklist(PROFILE_NAMES),
  placement: v.picklist(['cluster', 'remote']),
  state: v.picklist(TENANT_STATES),
  state_reason: v.nullable(v.string()),
  state_changed_at: timestamp,
  suspended_from: v.nullable(v.picklist(TENANT_STATES)),
  error: v.nullable(
    v.object({ step: v.picklist(STEPS), reason: v.string(), message: v.string(), at: timestamp }),
  ),
  generation: v.number(),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: v.nullable(timestamp),
  grace_until: v.nullable(timestamp),
  purge_after: v.nullable(timestamp),
  runtime: Runtime,
})
export type Tenant = v.InferOutput<typeof Tenant>

export const Contact = v.object({
  user_id: uuid,
  email: v.string(),
  temporary_password: v.nullable(v.string()),
})
/** The answer of a creation: the tenant and, once, its first administrator. */
export const TenantCreated = v.object({ ...Tenant.entries, contact: v.nullable(Contact) })
export type TenantCreated = v.InferOutput<typeof TenantCreated>

export const Condition = v.object({
  type: v.string(),
  status: v.picklist(['True', 'False', 'Unknown']),
  reason: v.string(),
  message: v.string(),
  last_transition_time: timestamp,
  observed_generation: v.number(),
})

/** Decision 3.5. */
export const Installation = v.object({
  id: uuid,
  release_name: v.string(),
  namespace: v.string(),
  chart_ref: v.string(),
  chart_version: v.nullable(v.string()),
  desired_chart_version: v.string(),
  revision: v.nullable(v.number()),
  status: v.nullable(v.string()),
  values_digest: v.nullable(v.string()),
  manifest_digest: v.nullable(v.string()),
  installed_at: v.nullable(timestamp),
  updated_at: timestamp,
  last_error: v.nullable(v.string()),
  agent: v.nullable(
    v.object({
      version: v.nullable(v.string()),
      last_seen_at: v.nullable(timestamp),
      cluster_label: v.nullable(v.string()),
    }),
  ),
})

export const StepView = v.object({
  step: v.picklist(STEPS),
  status: v.picklist(STEP_STATUSES),
  started_at: v.nullable(timestamp),
  finished_at: v.nullable(timestamp),
  message: v.nullable(v.string()),
})

export const LlmView = v.object({
  provider: v.string(),
  base_url: v.string(),
  model: v.string(),
  has_api_key: v.boolean(),
  key_fingerprint: v.nullable(v.string()),
  updated_at: timestamp,
})

export const TenantConfigView = v.object({
  contact_email: v.nullable(v.string()),
  integrations: v.object({ external_cortex_url: v.string() }),
  components: v.object({
    linuxep: v.object({ enabled: v.boolean() }),
    wazuh: v.object({ dashboard: v.object({ enabled: v.boolean() }) }),
  }),
  wazuh_ingress: v.object({ mode: v.picklist(['loadbalancer', 'edge-haproxy']), hostname: v.string() }),
  runs_worker: v.object({ concurrency: v.number(), drain_seconds: v.number() }),
  network: v.object({ allowed_llm_hosts: v.array(v.string()) }),
  triage: v.object({ auto_close: v.boolean() }),
})
export type TenantConfigView = v.InferOutput<typeof TenantConfigView>

export const TenantDetail = v.object({
  ...Tenant.entries,
  conditions: v.array(Condition),
  installation: v.nullable(Installation),
  endpoints: v.object({
    customer_url: v.string(),
    wazuh_host: v.nullable(v.string()),
    events_port: v.nullable(v.number()),
    enrollment_port: v.nullable(v.number()),
  }),
  llm: v.nullable(LlmView),
  branding: BrandingRead,
  config: TenantConfigView,
  steps: v.array(StepView),
})
export type TenantDetail = v.InferOutput<typeof TenantDetail>

export const TenantListQuery = strictObject({
  ...pageQuery,
  state: repeatable(v.picklist(TENANT_STATES)),
  q: v.optional(text(1, 255)),
  deleted: queryFlag,
})
export type TenantListQuery = v.InferOutput<typeof TenantListQuery>
export const TenantList = page(Tenant)

/** Decision 3.13. */
export const LifecycleEvent = v.object({
  id: uuid,
  at: timestamp,
  kind: v.picklist(LIFECYCLE_KINDS),
  from_state: v.nullable(v.picklist(TENANT_STATES)),
  to_state: v.nullable(v.picklist(TENANT_STATES)),
  actor_id: v.string(),
  details: v.record(v.string(), v.unknown()),
})
export type LifecycleEvent = v.InferOutput<typeof LifecycleEvent>
export const LifecycleQuery = strictObject({
  ...pageQuery,
  kind: repeatable(v.picklist(LIFECYCLE_KINDS)),
  since: v.optional(instant),
  until: v.optional(instant),
})
export type LifecycleQuery = v.InferOutput<typeof LifecycleQuery>
export const LifecycleList = page(LifecycleEvent)
