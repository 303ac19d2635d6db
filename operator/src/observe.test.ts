import { describe, expect, it } from 'vitest'
import type { WorkloadObject } from './context.ts'
import { workloadsOf } from './helm/release.ts'
import { problemOf } from './observe.ts'

const object = (spec: object, status: object): WorkloadObject => ({
  metadata: { name: 'a', generation: 2 },
  spec,
  status: { observedGeneration: 2, ...status },
})

describe('a workload', () => {
  it.each([
    ['Deployment', { replicas: 2 }, { replicas: 2, updatedReplicas: 2, availableReplicas: 2 }, undefined],
    [
      'Deployment',
      { replicas: 2 },
      { replicas: 3, updatedReplicas: 2, availableReplicas: 2 },
      '2 of 2 ready',
    ],
    ['Deployment', {}, { replicas: 1, updatedReplicas: 1, availableReplicas: 0 }, '0 of 1 ready'],
    ['StatefulSet', { replicas: 1 }, { replicas: 1, updatedReplicas: 1, readyReplicas: 1 }, undefined],
    ['StatefulSet', { replicas: 1 }, { replicas: 1, updatedReplicas: 0, readyReplicas: 1 }, '0 of 1 ready'],
    [
      'DaemonSet',
      {},
      { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 },
      undefined,
    ],
    [
      'DaemonSet',
      {},
      { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 1 },
      '1 of 3 ready',
    ],
    ['DaemonSet', {}, { observedGeneration: 1 }, 'not looked at yet'],
  ] as const)('%s %o with %o: %s', (kind, spec, status, problem) => {
    expect(problemOf({ kind, name: 'a' }, object(spec, status))).toBe(problem)
  })

  it('of any kind is found in a manifest', () => {
    const manifest = ['Deployment', 'StatefulSet', 'DaemonSet', 'Service']
      .map((kind) => `kind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n`)
      .join('---\n')
    expect(workloadsOf(manifest).map(({ kind }) => kind)).toEqual(['Deployment', 'StatefulSet', 'DaemonSet'])
  })
})
