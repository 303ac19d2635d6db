import { TenantSpec, TenantValues, parseImage } from '@service/crds'
import type { ImageParts, Tenant } from '@service/crds'
import { PROFILES } from '@service/domain'
import type { Profile } from '@service/domain'
import * as v from 'valibot'
import type { NetworkPlatform, WazuhPlatform } from '../config.ts'
import type { SecretChecksums } from './checksums.ts'
import { namespaceLabels } from './namespace.ts'

/** What the platform, not the tenant, says about the stack; addresses are those of this tenant. */
export type PlatformValues = {
  readonly adapter: {
    readonly apiUrl: string
    readonly indexerUrl: string
    readonly heartbeatSeconds: number
    readonly pollSeconds: number
  }
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly wazuh: WazuhPlatform
  readonly network: NetworkPlatform
}

/** The values would not fit the chart; the message names the keys and what they should be, never what they are. */
export class InvalidValuesError extends Error {
  override readonly name = 'InvalidValuesError'
}

/**
 * The values of the tenant's chart, complete and in a fixed order, so that equal wants give equal digests.
 * Throws InvalidValuesError when tenant or platform hold something that the chart does not take.
 */
export function buildValues(
  tenant: Tenant,
  platform: PlatformValues,
  checksums?: SecretChecksums,
): TenantValues {
  // What a newer definition of the resource has added is dropped here: the chart would refuse it.
  const spec = checked(TenantSpec, tenant.spec, 'The spec of the tenant is not valid')
  return checked(
    TenantValues,
    wantedValues({ ...tenant, spec }, platform, checksums),
    'The chart does not take these values',
  )
}

function checked<S extends v.GenericSchema>(schema: S, input: unknown, problem: string): v.InferOutput<S> {
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  const findings = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'all'}: ${problemOf(issue)}`)
  throw new InvalidValuesError(`${problem}. ${findings.join('; ')}`)
}

const problemOf = (issue: v.GenericIssue): string =>
  issue.expected === null ? issue.message : `expected ${issue.expected}`

function wantedValues(
  tenant: Tenant,
  platform: PlatformValues,
  checksums: SecretChecksums | undefined,
): v.InferInput<typeof TenantValues> {
  const { spec } = tenant
  const { config } = spec
  const profile = PROFILES[spec.profile]
  return {
    tenant: {
      id: spec.tenantId,
      msspId: config.msspId,
      installId: config.installId,
      slug: tenant.metadata.name,
      displayName: spec.displayName,
    },
    branding: config.branding,
    llm: config.llm,
    integrations: config.integrations,
    components: componentsOf(tenant, profile, platform.wazuh),
    // Without a stack there is nothing to start anew.
    ...(platform.wazuh.enabled && checksums !== undefined ? { secretChecksums: checksums } : {}),
    linuxep: { resources: profile.linuxep, ...imageOf(spec.images.linuxEp) },
    networkPolicies: {
      allowedLlmHosts: config.network.allowedLlmHosts,
      ...platform.network,
      llmCidrs: [...platform.network.llmCidrs],
      indexerCidrs: [...platform.network.indexerCidrs],
    },
    resourceQuota: profile.quota,
    wazuhIngress: config.wazuhIngress,
    adapter: {
      ...imageOf(spec.images.adapter),
      resources: profile.adapter,
      ...platform.adapter,
    },
    runsWorker: {
      ...imageOf(spec.images.runsWorker),
      resources: profile.runsWorker,
      ...config.runsWorker,
    },
    namespaceLabels: namespaceLabels(tenant),
    nodeSelector: platform.nodeSelector,
  }
}

function componentsOf({ spec }: Tenant, { wazuh }: Profile, { enabled, sysctlInit }: WazuhPlatform) {
  const { components } = spec.config
  return {
    wazuh: {
      enabled,
      manager: {
        resources: wazuh.manager.resources,
        persistence: { size: wazuh.manager.storage },
      },
      indexer: {
        resources: wazuh.indexer.resources,
        persistence: { size: wazuh.indexer.storage },
        jvm: { heap: wazuh.indexer.heap },
        sysctlInit: { enabled: sysctlInit },
      },
      dashboard: {
        enabled: components.wazuh.dashboard.enabled,
        resources: wazuh.dashboard.resources,
      },
    },
    // It enrolls at the manager, so it is nothing without one.
    linuxep: { enabled: enabled && components.linuxep.enabled },
  }
}

/** Parts that the reference does not name stay those of the chart; a digest needs no tag beside it. */
function imageOf(reference: string): { image?: Partial<ImageParts> } {
  const parts = parseImage(reference)
  if (parts === undefined) throw new InvalidValuesError('An image of the tenant is no image reference.')
  const { repository, tag, digest } = parts
  const image = {
    ...(repository === '' ? {} : { repository }),
    ...(tag === '' && digest === '' ? {} : { tag, digest }),
  }
  return Object.keys(image).length === 0 ? {} : { image }
}

// Helm reads YAML, which refuses these raw, though JSON and the API let them through in names.
const NOT_PRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

/** The text of values as `helm --values` reads it; equal values give equal texts, so it may be digested. */
export const valuesText = (values: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(values).replace(
    NOT_PRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
