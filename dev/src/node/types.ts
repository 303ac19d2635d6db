/** The parts of a Pod that the local node reads. */
export interface Pod {
  metadata: {
    name: string
    namespace: string
    uid: string
    resourceVersion?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    deletionTimestamp?: string
    deletionGracePeriodSeconds?: number
  }
  spec: PodSpec
  status?: PodStatus
}

export interface PodSpec {
  nodeName?: string
  serviceAccountName?: string
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  terminationGracePeriodSeconds?: number
  initContainers?: Container[]
  containers: Container[]
  volumes?: Volume[]
  readinessGates?: Array<{ conditionType: string }>
}

export interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  workingDir?: string
  ports?: Array<{ name?: string; containerPort: number }>
  env?: EnvVar[]
  envFrom?: Array<{ prefix?: string; secretRef?: Reference; configMapRef?: Reference }>
  volumeMounts?: Array<{ name: string; mountPath: string; subPath?: string; subPathExpr?: string }>
  startupProbe?: Probe
  readinessProbe?: Probe
  livenessProbe?: Probe
  lifecycle?: {
    postStart?: object
    preStop?: { sleep?: { seconds: number }; exec?: object; httpGet?: object }
  }
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: {
    fieldRef?: { fieldPath: string }
    resourceFieldRef?: object
    secretKeyRef?: KeyReference
    configMapKeyRef?: KeyReference
  }
}

export interface Reference {
  name: string
  optional?: boolean
}

export interface KeyReference extends Reference {
  key: string
}

export interface KeyToPath {
  key: string
  path: string
  mode?: number
}

export interface DownwardItem {
  path: string
  mode?: number
  fieldRef?: { fieldPath: string }
  resourceFieldRef?: object
}

export interface Projection {
  secret?: Reference & { items?: KeyToPath[] }
  configMap?: Reference & { items?: KeyToPath[] }
  downwardAPI?: { items?: DownwardItem[] }
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string }
}

export interface Volume {
  name: string
  secret?: { secretName: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number }
  configMap?: Reference & { items?: KeyToPath[]; defaultMode?: number }
  downwardAPI?: { items?: DownwardItem[]; defaultMode?: number }
  projected?: { sources?: Projection[]; defaultMode?: number }
  emptyDir?: object
}

export interface Probe {
  httpGet?: {
    path?: string
    port: number | string
    host?: string
    scheme?: 'HTTP' | 'HTTPS'
    httpHeaders?: Array<{ name: string; value: string }>
  }
  tcpSocket?: { port: number | string; host?: string }
  exec?: object
  grpc?: object
  initialDelaySeconds?: number
  periodSeconds?: number
  timeoutSeconds?: number
  successThreshold?: number
  failureThreshold?: number
}

export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export interface ContainerStatus {
  name: string
  image: string
  imageID: string
  containerID?: string
  ready: boolean
  started: boolean
  restartCount: number
  state: StatusState
  lastState: StatusState
}

export interface StatusState {
  waiting?: { reason: string; message?: string }
  running?: { startedAt: string }
  terminated?: { exitCode: number; reason: string; message?: string; startedAt: string; finishedAt: string }
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  startTime?: string
  podIP?: string
  hostIP?: string
  conditions?: Condition[]
  containerStatuses?: ContainerStatus[]
}

/** A program that stands in for a container image. */
export interface LocalImage {
  command: string
  args: readonly string[]
  cwd?: string
  /** The image's own environment; the container's comes over it. */
  env?: Readonly<Record<string, string>>
}

/** Why a container cannot be started now; shown in its status and, as a warning, in an Event. */
export class StartProblem extends Error {
  readonly reason: string
  readonly event: string
  constructor(reason: string, event: string, message: string) {
    super(message)
    this.reason = reason
    this.event = event
  }
}
