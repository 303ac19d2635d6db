import type { Tenant } from '@service/crds'
import type { Clock, HitFailpoint } from '@service/domain'
import type { KubeClient, KubeObject } from '@service/kube'
import type { Logger } from 'pino'
import type { OperatorConfig } from './config.ts'
import type { EventRecorder } from './events.ts'
import type { HelmDriver } from './helm/driver.ts'
import type { ReleaseReader, Workload } from './helm/release.ts'
import type { Lease } from './lease.ts'

export type Namespace = KubeObject & {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly message?: string
    }[]
  }
}

/** Deployment, StatefulSet or DaemonSet, as much of it as readiness needs. */
export type WorkloadObject = KubeObject & {
  readonly spec?: { readonly replicas?: number }
  readonly status?: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly readyReplicas?: number
    readonly desiredNumberScheduled?: number
    readonly updatedNumberScheduled?: number
    readonly numberAvailable?: number
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly message?: string
    }[]
  }
}

/** What the watches have brought; may be behind, never ahead. */
export type ClusterCache = {
  tenant(name: string): Tenant | undefined
  namespace(name: string): Namespace | undefined
  workload(namespace: string, workload: Workload): WorkloadObject | undefined
  heartbeat(namespace: string): Lease | undefined
}

/** What one reconciliation may use. Every write of `kube` is fenced by the term. */
export type ReconcileContext = {
  readonly kube: KubeClient
  readonly cache: ClusterCache
  readonly helm: HelmDriver
  readonly releases: ReleaseReader
  readonly config: OperatorConfig
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  /** Told of each version that a write of ours has made, before the watch brings it. */
  readonly wrote: (tenant: Tenant) => void
  /** By tenant, why its last act did not come off. Only explains: lost with the process, found again by the next try. */
  readonly troubles: Map<string, string>
  readonly hit: HitFailpoint
  /** Nothing new is begun. */
  readonly draining: AbortSignal
  /** Leadership is over: running helm is stopped. */
  readonly signal: AbortSignal
}
