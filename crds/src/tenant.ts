import {
  JOURNAL_KINDS,
  PROFILE_NAMES,
  SLUG,
  STEPS,
  STEP_STATUSES,
  TENANT_STATES,
  GROUP,
  KIND,
  PLURAL,
  VERSION,
} from '@service/domain'
import * as v from 'valibot'

/** `apiVersion` of the Tenant resource (decision 8.1). */
export const API_VERSION = `${GROUP}/${VERSION}`

const text = (max: number, description: string) =>
  v.pipe(v.string(), v.maxLength(max), v.description(description))
const uuid = (description: string) =>
  v.pipe(
    v.string(),
    v.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
    v.description(description),
  )
const time = (description: string) => v.pipe(v.string(), v.isoTimestamp(), v.description(description))
const count = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description))

export const TenantConfig = v.pipe(
  v.object({
    msspId: uuid('Id of the MSSP that runs the install.'),
    installId: uuid('Id of the install.'),
    branding: v.object({
      appName: text(255, 'Name that the customer portal shows.'),
      logoUrl: text(500, 'Address of the logo; empty for none.'),
      favicon: text(500, 'Address of the favicon; empty for none.'),
      primaryColor: text(16, 'Primary colour; empty for the default.'),
      secondaryColor: text(16, 'Secondary colour; empty for the default.'),
    }),
    llm: v.object({
      provider: text(64, 'LLM provider, for example openai-compatible.'),
      baseUrl: text(500, 'Base address of the LLM; empty when none is set.'),
      model: text(255, 'Model name; empty when none is set.'),
    }),
    integrations: v.object({
      externalCortexUrl: text(500, 'Address of an external Cortex; empty when unused.'),
    }),
    components: v.object({
      linuxep: v.object({
        enabled: v.pipe(v.boolean(), v.description('Install the endpoint agent subchart.')),
      }),
      wazuh: v.object({
        dashboard: v.object({ enabled: v.pipe(v.boolean(), v.description('Install the Wazuh dashboard.')) }),
      }),
    }),
    wazuhIngress: v.object({
      mode: v.pipe(
        v.picklist(['loadbalancer', 'edge-haproxy']),
        v.description('How agents reach the manager.'),
      ),
      hostname: text(253, 'Host name that agents use; empty when none is set.'),
    }),
    runsWorker: v.object({
      concurrency: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.maxValue(32),
        v.description('Investigations at once.'),
      ),
      drainSeconds: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(3600),
        v.description('Seconds that a stopping worker may finish in, when concurrency is above 1.'),
      ),
    }),
    network: v.object({
      allowedLlmHosts: v.pipe(
        v.array(v.pipe(v.string(), v.maxLength(253))),
        v.maxLength(32),
        v.description('Hosts that the runs worker may reach.'),
      ),
    }),
    triage: v.object({
      autoClose: v.pipe(v.boolean(), v.description('Close high-confidence false positives without a case.')),
    }),
  }),
  v.description('Tenant configuration. Holds no secret.'),
)

/** `spec`, written by the API alone (decision 8.2). */
export const TenantSpec = v.pipe(
  v.object({
    tenantId: uuid('Id of the tenant row. Immutable.'),
    revision: v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.description('Raised by every verb that changes what is wanted. Never falls.'),
    ),
    desired: v.pipe(v.picklist(['Run', 'Suspend', 'Decommission']), v.description('What is wanted.')),
    teardown: v.optional(
      v.pipe(
        v.object({
          tenantId: uuid('Must equal spec.tenantId.'),
          uid: text(64, 'Must equal metadata.uid.'),
          force: v.pipe(v.boolean(), v.description('Go on when uninstall hooks fail.')),
        }),
        v.description(
          'Order to uninstall the release and delete the namespace. Nothing is torn down without it.',
        ),
      ),
    ),
    retryToken: text(64, 'Changes with each retry; the operator starts a failed step again.'),
    secretsRevision: v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.description('Raised when the material in the install namespace changes.'),
    ),
    placement: v.pipe(v.picklist(['cluster', 'remote']), v.description('Where the tenant stack runs.')),
    profile: v.pipe(v.picklist(PROFILE_NAMES), v.description('Sizes and timeouts.')),
    displayName: text(255, 'Name of the customer.'),
    chart: v.object({
      ref: text(500, 'Reference of the tenant chart; empty for the one that the operator carries.'),
      version: text(64, 'Version of the tenant chart.'),
    }),
    images: v.object({
      adapter: text(500, 'Image of the adapter; empty for the chart default.'),
      runsWorker: text(500, 'Image of the runs worker; empty for the chart default.'),
      linuxEp: text(500, 'Image of the endpoint agent; empty for the chart default.'),
    }),
    config: TenantConfig,
  }),
  v.description('What the service wants of this tenant.'),
)

/** The condition types of a Tenant (decision 8.5). `Reconciling` and `Stalled` stand only while they hold. */
export const CONDITION_TYPES = [
  'Ready',
  'Reconciling',
  'Stalled',
  'NamespaceReady',
  'SecretsReady',
  'ReleaseInstalled',
  'WorkloadsReady',
  'AdapterConnected',
  'Suspended',
  'Drifted',
] as const

/** Closed list of reasons, each with an entry in the runbook. */
export const CONDITION_REASONS = [
  'Succeeded',
  'Progressing',
  'Waiting',
  'Created',
  'Conflict',
  'Terminating',
  'Missing',
  'MaterialMissing',
  'MaterialStale',
  'Copied',
  'Installed',
  'InstallFailed',
  'ForeignOperation',
  'InvalidConfiguration',
  'Available',
  'PodsNotReady',
  'Connected',
  'HeartbeatMissing',
  'HeartbeatStale',
  'TimedOut',
  'Paused',
  'Suspended',
  'NotSuspended',
  'Decommissioning',
  'UninstallFailed',
  'NotDrifted',
  'Drifted',
  'ApiError',
] as const

const Condition = v.object({
  type: v.pipe(v.picklist(CONDITION_TYPES), v.description('Type of the condition.')),
  status: v.pipe(v.picklist(['True', 'False', 'Unknown']), v.description('Status of the condition.')),
  observedGeneration: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.description('Generation of the resource that this condition speaks of.'),
  ),
  lastTransitionTime: time('When the status last flipped.'),
  reason: v.pipe(
    v.picklist(CONDITION_REASONS),
    v.description('Stable reason, with an entry in the runbook.'),
  ),
  message: text(4096, 'One sentence for people, with the next action where there is one.'),
})

const StepRecord = v.object({
  step: v.pipe(v.picklist(STEPS), v.description('Name of the step.')),
  status: v.pipe(v.picklist(STEP_STATUSES), v.description('How far the step is.')),
  startedAt: v.optional(time('When the step began.')),
  finishedAt: v.optional(time('When the step was done or failed.')),
  message: v.optional(text(1024, 'What the step waits for, or why it failed.')),
})

const Failure = v.object({
  step: v.pipe(v.picklist(STEPS), v.description('The step that failed.')),
  reason: v.pipe(v.picklist(CONDITION_REASONS), v.description('Reason, as in the conditions.')),
  message: text(4096, 'What failed, for people.'),
  at: time('When it failed.'),
  retryToken: text(64, 'The retryToken under which it failed.'),
})

const Release = v.object({
  name: text(63, 'Name of the Helm release.'),
  revision: count('Revision of the Helm release.'),
  chartVersion: text(64, 'Version of the installed chart.'),
  valuesDigest: text(80, 'sha256 of the values that were rendered.'),
  manifestDigest: text(80, 'sha256 of the manifest that was rendered.'),
  status: text(32, 'Status of the Helm release.'),
})

/** One entry of the journal: what the operator did, written before a destructive act (decision 8.3). */
export const JournalEntry = v.object({
  seq: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(1),
    v.description('Grows by one with each entry of this resource.'),
  ),
  kind: v.pipe(v.picklist(JOURNAL_KINDS), v.description('What happened.')),
  step: v.optional(v.pipe(v.picklist(STEPS), v.description('The step that it happened in.'))),
  from: v.optional(v.pipe(v.picklist(TENANT_STATES), v.description('Phase before a change of state.'))),
  to: v.optional(v.pipe(v.picklist(TENANT_STATES), v.description('Phase after a change of state.'))),
  at: time('When it happened.'),
  evidence: v.optional(text(4096, 'What was seen: events, pod states, output. Never a secret.')),
})

/** `status`, written by the operator alone (decision 8.3). */
export const TenantStatus = v.object({
  phase: v.optional(v.pipe(v.picklist(TENANT_STATES), v.description('State of the tenant.'))),
  observedRevision: v.optional(count('spec.revision that this status speaks of.')),
  observedGeneration: v.optional(count('metadata.generation that this status speaks of.')),
  conditions: v.optional(v.pipe(v.array(Condition), v.maxLength(16))),
  steps: v.optional(v.pipe(v.array(StepRecord), v.maxLength(8))),
  failure: v.optional(v.nullable(Failure)),
  release: v.optional(Release),
  journal: v.optional(v.pipe(v.array(JournalEntry), v.maxLength(64))),
})

export type TenantSpec = v.InferOutput<typeof TenantSpec>
export type TenantConfig = v.InferOutput<typeof TenantConfig>
export type TenantStatus = v.InferOutput<typeof TenantStatus>
export type TenantCondition = v.InferOutput<typeof Condition>
export type TenantStepRecord = v.InferOutput<typeof StepRecord>
export type TenantFailure = v.InferOutput<typeof Failure>
export type TenantRelease = v.InferOutput<typeof Release>
export type JournalEntry = v.InferOutput<typeof JournalEntry>
export type ConditionType = (typeof CONDITION_TYPES)[number]
export type ConditionReason = (typeof CONDITION_REASONS)[number]

/** The Tenant resource; `metadata.name` is the slug, the resource is cluster-scoped (decision 8.1). */
export type Tenant = {
  readonly apiVersion: typeof API_VERSION
  readonly kind: typeof KIND
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly generation?: number
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: TenantSpec
  readonly status?: TenantStatus
}

/** `metadata.name` of a Tenant. */
export const TENANT_NAME = SLUG

/** How the cluster port addresses Tenants; a structural match of its ResourceType. */
export const TENANTS = { apiVersion: API_VERSION, kind: KIND, plural: PLURAL, namespaced: false } as const

/** On the material Secret: the `spec.secretsRevision` that it satisfies (decision 8.8). */
export const SECRETS_REVISION_ANNOTATION = 'service.dev/secrets-revision'
