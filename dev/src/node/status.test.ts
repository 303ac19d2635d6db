import { describe, expect, it } from 'vitest'
import { podStatus } from './status.ts'
import type { ContainerState, ContainerView } from './status.ts'
import type { Condition, Pod } from './types.ts'

const at = new Date('2026-01-02T03:04:05.678Z')
const pod: Pod = { metadata: { name: 'a', namespace: 'b', uid: 'c' }, spec: { containers: [] } }
const view = (state: ContainerState, more: Partial<ContainerView> = {}): ContainerView => ({
  name: 'main',
  image: 'x',
  processId: undefined,
  state,
  last: undefined,
  restartCount: 0,
  started: false,
  ready: false,
  ...more,
})
const status = (containers: ContainerView[], previous: Condition[] = [], of: Pod = pod) =>
  podStatus({
    pod: of,
    containers,
    podIp: '127.42.0.1',
    hostIp: '127.0.0.1',
    startTime: at,
    previous,
    now: at,
  })

const waiting: ContainerState = { kind: 'waiting', reason: 'CrashLoopBackOff' }
const running: ContainerState = { kind: 'running', startedAt: at }
const ended = (exitCode: number) => ({ exitCode, reason: 'Error', startedAt: at, finishedAt: at })
const over = (exitCode: number): ContainerState => ({ kind: 'terminated', ...ended(exitCode) })

describe('the status of a pod', () => {
  it.each([
    ['Pending', [view(waiting)]],
    ['Pending', [view(running), view(waiting)]],
    ['Running', [view(waiting, { last: ended(1) })]],
    ['Running', [view(running), view(over(0))]],
    ['Succeeded', [view(over(0)), view(over(0))]],
    ['Failed', [view(over(0)), view(over(2))]],
  ])('has phase %s', (phase, containers) => expect(status(containers).phase).toBe(phase))

  const ready = (of: ReturnType<typeof status>) => of.conditions?.find((each) => each.type === 'Ready')

  it('is ready when all containers and all readiness gates are', () => {
    const good = view(running, { started: true, ready: true })
    expect(ready(status([good]))).toMatchObject({ status: 'True' })
    expect(ready(status([good, view(running, { name: 'side' })]))).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [side]',
    })
    const gated: Pod = { ...pod, spec: { containers: [], readinessGates: [{ conditionType: 'gate' }] } }
    expect(ready(status([good], [], gated))).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
    })
  })

  it('keeps the time of a condition until it flips', () => {
    const earlier = '2020-01-01T00:00:00Z'
    const before: Condition[] = [
      { type: 'Ready', status: 'False', lastTransitionTime: earlier },
      { type: 'Initialized', status: 'False', lastTransitionTime: earlier },
    ]
    const { conditions = [] } = status([view(running)], before)
    const time = (type: string) => conditions.find((each) => each.type === type)?.lastTransitionTime
    expect(time('Ready')).toBe(earlier)
    expect(time('Initialized')).toBe('2026-01-02T03:04:05Z')
  })
})
