/** A kind of the cluster, as the port addresses it. */
export type ResourceType = {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

export type ObjectMeta = {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}
export type KubeObject = {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

export type ObjectKey = { readonly name: string; readonly namespace?: string }

export const NAMESPACES: ResourceType = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}
export const SECRETS: ResourceType = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }
export const PODS: ResourceType = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
export const LEASES: ResourceType = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}
export const DEPLOYMENTS: ResourceType = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
export const STATEFUL_SETS: ResourceType = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  namespaced: true,
}
export const DAEMON_SETS: ResourceType = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
}
export const VOLUME_CLAIMS: ResourceType = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
}
export const ROLE_BINDINGS: ResourceType = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
}
/** Created to ask what the asking account may do; nothing is stored. */
export const ACCESS_REVIEWS: ResourceType = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
}
export const EVENTS: ResourceType = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}

/** What the API server answered instead of a success, or that it did not answer (`status` 0). */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** `reason` of the Status object, for example `AlreadyExists`, `Conflict`, `Expired`. */
  readonly reason: string
  readonly retryAfterMs: number | null
  constructor(
    message: string,
    status: number,
    reason: string,
    retryAfterMs: number | null = null,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}
export const isKubeError = (error: unknown, ...reasons: readonly string[]): error is KubeError =>
  error instanceof KubeError && (reasons.length === 0 || reasons.includes(error.reason))

export type CallOptions = { readonly signal?: AbortSignal; readonly timeoutMs?: number }
export type ListOptions = CallOptions & {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}
export type ApplyOptions = CallOptions & {
  readonly fieldManager: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly subresource?: 'status'
}
export type DeleteOptions = CallOptions & {
  /** Refused with `Conflict` when the object is another one by now. */
  readonly uid?: string
  readonly propagation?: 'Foreground' | 'Background'
}

export type ObjectList<T> = { readonly items: T[]; readonly resourceVersion: string }

/**
 * The cluster port. Every call has a deadline (default 15 s), goes through pooled connections and fails with KubeError.
 * Objects are plain data.
 */
export type KubeClient = {
  /** The API server answers and is ready. */
  ready(options?: CallOptions): Promise<void>
  /** `null` when it does not exist. */
  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: CallOptions): Promise<T | null>
  /** All pages. */
  list<T extends KubeObject>(type: ResourceType, options?: ListOptions): Promise<ObjectList<T>>
  /** Fails with `AlreadyExists` when it exists. */
  create<T extends KubeObject>(type: ResourceType, object: T, options?: CallOptions): Promise<T>
  /** Optimistic: fails with `Conflict` unless `metadata.resourceVersion` is current. */
  replace<T extends KubeObject>(
    type: ResourceType,
    object: T,
    options?: CallOptions & { readonly subresource?: 'status' },
  ): Promise<T>
  /** Server-side apply. */
  apply<T extends KubeObject>(type: ResourceType, object: T, options: ApplyOptions): Promise<T>
  /** JSON merge patch. */
  patch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: unknown,
    options?: CallOptions & { readonly subresource?: 'status' },
  ): Promise<T>
  /** `false` when it did not exist. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<boolean>
  close(): Promise<void>
}

export type WatchEvent<T> =
  | { readonly type: 'set'; readonly object: T; readonly initial: boolean }
  | { readonly type: 'deleted'; readonly object: T }

/** A cache of one kind, kept by a paged list and watches; it outlives every wire fault (property O2). */
export type Reflector<T extends KubeObject> = {
  /** Resolves after the first complete list. */
  hasSynced(): Promise<void>
  get(key: ObjectKey): T | undefined
  items(): T[]
  /** Seconds since the last byte on the wire. */
  silenceSeconds(): number
  stop(): Promise<void>
}
export type ReflectorOptions<T extends KubeObject> = {
  readonly client: KubeClient
  readonly type: ResourceType
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Called in order, also with what a relist found changed or gone. Must not throw. */
  readonly onEvent: (event: WatchEvent<T>) => void
  readonly onError?: (error: unknown) => void
}
