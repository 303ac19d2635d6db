import type { Condition, ContainerStatus, Pod, PodStatus, StatusState } from './types.ts'

export interface Terminated {
  exitCode: number
  reason: string
  message?: string
  startedAt: Date
  finishedAt: Date
}

export type ContainerState =
  | { kind: 'waiting'; reason: string; message?: string }
  | { kind: 'running'; startedAt: Date }
  | ({ kind: 'terminated' } & Terminated)

/** What the node knows of one container. */
export interface ContainerView {
  name: string
  image: string
  processId: number | undefined
  state: ContainerState
  last: Terminated | undefined
  restartCount: number
  started: boolean
  ready: boolean
}

export interface StatusInput {
  pod: Pod
  containers: readonly ContainerView[]
  podIp: string
  hostIp: string
  startTime: Date
  previous: readonly Condition[]
  now: Date
}

/** The status that a kubelet would report. */
export function podStatus(input: StatusInput): PodStatus {
  const { containers, pod } = input
  const phase = phaseOf(containers)
  const over = phase === 'Succeeded' || phase === 'Failed'
  const unready = containers.filter((each) => !each.ready).map((each) => each.name)
  const notReady = over
    ? { reason: 'PodCompleted' }
    : { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` }
  const gates = (pod.spec.readinessGates ?? []).map((gate) => gate.conditionType)
  const closed = gates.filter(
    (type) => pod.status?.conditions?.find((each) => each.type === type)?.status !== 'True',
  )
  const containersReady = unready.length === 0 && !over
  const gatesProblem = { reason: 'ReadinessGatesNotReady', message: `not true: [${closed.join(' ')}]` }
  const ready = containersReady && closed.length === 0
  const conditions = [
    condition(input, 'PodReadyToStartContainers', true),
    condition(input, 'Initialized', true),
    condition(input, 'ContainersReady', containersReady, notReady),
    condition(input, 'Ready', ready, containersReady ? gatesProblem : notReady),
  ]
  return {
    phase,
    startTime: seconds(input.startTime),
    podIP: input.podIp,
    hostIP: input.hostIp,
    conditions,
    containerStatuses: containers.map(containerStatus),
  }
}

function phaseOf(containers: readonly ContainerView[]): NonNullable<PodStatus['phase']> {
  const codes = containers.map(({ state }) => (state.kind === 'terminated' ? state.exitCode : undefined))
  if (codes.length > 0 && codes.every((code) => code !== undefined)) {
    return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed'
  }
  const begun = containers.every(({ state, last }) => state.kind !== 'waiting' || last !== undefined)
  return begun ? 'Running' : 'Pending'
}

function condition(
  input: StatusInput,
  type: string,
  holds: boolean,
  otherwise: { reason?: string; message?: string } = {},
): Condition {
  const status = holds ? 'True' : 'False'
  const before = input.previous.find((each) => each.type === type)
  const same = before?.status === status && before.lastTransitionTime !== undefined
  return {
    type,
    status,
    // Explicit empty texts: a strategic merge patch would keep the old ones.
    reason: holds ? '' : (otherwise.reason ?? ''),
    message: holds ? '' : (otherwise.message ?? ''),
    lastTransitionTime: same ? (before.lastTransitionTime ?? '') : seconds(input.now),
  }
}

function containerStatus(view: ContainerView): ContainerStatus {
  return {
    name: view.name,
    image: view.image,
    imageID: view.image,
    ...(view.processId === undefined ? {} : { containerID: `local://${view.processId}` }),
    ready: view.ready,
    started: view.started,
    restartCount: view.restartCount,
    state: stateOf(view.state),
    lastState: view.last === undefined ? {} : stateOf({ kind: 'terminated', ...view.last }),
  }
}

function stateOf(state: ContainerState): StatusState {
  if (state.kind === 'running') return { running: { startedAt: seconds(state.startedAt) } }
  const message = state.message === undefined ? {} : { message: state.message }
  if (state.kind === 'waiting') return { waiting: { reason: state.reason, ...message } }
  const { exitCode, reason, startedAt, finishedAt } = state
  return {
    terminated: {
      exitCode,
      reason,
      ...message,
      startedAt: seconds(startedAt),
      finishedAt: seconds(finishedAt),
    },
  }
}

/** The API server's format for times. */
export function seconds(at: Date): string {
  return at.toISOString().replace(/\.\d{3}Z$/, 'Z')
}
