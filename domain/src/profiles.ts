/** Kubernetes quantities, as strings. */
export type Resources = {
  readonly requests: { readonly cpu: string; readonly memory: string }
  readonly limits: { readonly cpu: string; readonly memory: string }
}
export type Quota = {
  readonly requests: { readonly cpu: string; readonly memory: string }
  readonly limits: { readonly cpu: string; readonly memory: string }
  readonly persistentVolumeClaims: number
  readonly pods: number
}
export type Profile = {
  /** From `provisioning` to `degraded`, when the workloads or the first heartbeat do not come. */
  readonly readinessTimeoutMs: number
  readonly dashboard: boolean
  readonly wazuh: {
    readonly manager: { readonly resources: Resources; readonly storage: string }
    readonly indexer: { readonly resources: Resources; readonly storage: string; readonly heap: string }
    readonly dashboard: { readonly resources: Resources }
  }
  readonly linuxep: Resources
  readonly adapter: Resources
  readonly runsWorker: Resources
  readonly quota: Quota
}

const resources = (cpu: string, memory: string, limitCpu: string, limitMemory: string): Resources => ({
  requests: { cpu, memory },
  limits: { cpu: limitCpu, memory: limitMemory },
})

export const PROFILE_NAMES = ['pilot', 'small-dev'] as const
export type ProfileName = (typeof PROFILE_NAMES)[number]

const OWN_PODS = {
  linuxep: resources('50m', '128Mi', '500m', '512Mi'),
  adapter: resources('50m', '128Mi', '200m', '256Mi'),
  runsWorker: resources('50m', '128Mi', '500m', '512Mi'),
  quota: {
    requests: { cpu: '3', memory: '8Gi' },
    limits: { cpu: '7', memory: '16Gi' },
    persistentVolumeClaims: 10,
    pods: 50,
  },
} as const

/** Profiles are data (decision 3.2); the numbers of `pilot` are S "Tenant configuration". */
export const PROFILES: { readonly [P in ProfileName]: Profile } = {
  pilot: {
    readinessTimeoutMs: 15 * 60_000,
    dashboard: true,
    wazuh: {
      manager: { resources: resources('200m', '512Mi', '500m', '1Gi'), storage: '20Gi' },
      indexer: { resources: resources('500m', '2Gi', '2', '4Gi'), storage: '50Gi', heap: '1g' },
      dashboard: { resources: resources('100m', '512Mi', '500m', '1Gi') },
    },
    ...OWN_PODS,
  },
  'small-dev': {
    readinessTimeoutMs: 30 * 60_000,
    dashboard: false,
    wazuh: {
      manager: { resources: resources('100m', '384Mi', '500m', '1Gi'), storage: '5Gi' },
      indexer: { resources: resources('250m', '1Gi', '1', '2Gi'), storage: '10Gi', heap: '512m' },
      dashboard: { resources: resources('50m', '256Mi', '250m', '512Mi') },
    },
    ...OWN_PODS,
  },
}
