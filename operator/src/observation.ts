import type { SecretChecksums } from './desired/index.ts'

/** What the cluster shows of one tenant, as plain data; no secret value is ever in it. */
export type Observation = {
  readonly namespace: NamespaceSeen
  readonly material: MaterialSeen
  /** Names of the tenant's Secrets that are absent or differ from the material. */
  readonly outdatedSecrets: readonly string[]
  /** Of what the stack reads at its start: of the material, and as long as that is not ready, of the copies. */
  readonly checksums: SecretChecksums
  readonly release: ReleaseSeen | null
  readonly desired: DesiredRelease
  /** Workloads of the release that are not ready, by what is wrong; `null` while there is no release. */
  readonly workloads: { readonly total: number; readonly unready: readonly string[] } | null
  /** When the API last renewed the adapter's Lease. */
  readonly heartbeatAt: Date | null
}

export type NamespaceSeen =
  | { readonly state: 'absent' }
  /** `going`: it is being deleted, as after the end of a former tenant of this slug. */
  | { readonly state: 'foreign'; readonly tenantId: string | null; readonly going: boolean }
  | { readonly state: 'ours'; readonly uid: string; readonly labelled: boolean }
  | { readonly state: 'terminating'; readonly uid: string; readonly blockers: readonly string[] }

export type MaterialSeen =
  | { readonly state: 'ready' }
  | { readonly state: 'missing' }
  | { readonly state: 'stale'; readonly revision: number }
  | { readonly state: 'incomplete'; readonly keys: readonly string[] }

export type ReleaseSeen = {
  readonly revision: number
  /** Status of the Helm release, for example `deployed`, `failed`, `pending-install`. */
  readonly status: string
  readonly chartVersion: string
  readonly valuesDigest: string
  readonly manifestDigest: string
  /** A `pending-*` record that this operator wrote. Its helm is dead when we lead and run none. */
  readonly ours: boolean
}

export type DesiredRelease =
  | { readonly valuesDigest: string; readonly chartVersion: string | null }
  | { readonly invalid: string }
