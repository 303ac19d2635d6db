import { KubeError } from '@service/kube'
import { describe, expect, it } from 'vitest'
import { judge } from './failure.ts'
import { HelmError, helmErrorOf } from './helm/error.ts'

const kube = (status: number, reason: string, message = 'm') => new KubeError(message, status, reason)
const helm = (line: string) => helmErrorOf(undefined, 1, line)
const TABLE: readonly [string, unknown, 'failed' | 'passing' | 'race'][] = [
  ['no right', kube(403, 'Forbidden'), 'failed'],
  ['quota', kube(403, 'Forbidden', 'exceeded quota: small, requested: secrets=1'), 'failed'],
  ['not valid', kube(422, 'Invalid'), 'failed'],
  ['not understood', kube(400, 'BadRequest'), 'failed'],
  ['a namespace that goes', kube(403, 'Forbidden', 'forbidden because it is being terminated'), 'passing'],
  ['too many requests', kube(429, 'TooManyRequests'), 'passing'],
  ['a server in trouble', kube(500, 'InternalError'), 'passing'],
  ['a server that starts', kube(503, 'ServiceUnavailable'), 'passing'],
  ['a token just renewed', kube(401, 'Unauthorized'), 'passing'],
  ['no connection', kube(0, 'ConnectionFailed'), 'passing'],
  ['no answer in time', kube(0, 'Timeout'), 'passing'],
  ['the lease is lost', kube(0, 'LeaseLost'), 'passing'],
  ['somebody wrote', kube(409, 'Conflict'), 'race'],
  ['it has just gone', kube(404, 'NotFound'), 'race'],
  ['a defect', new TypeError('x is undefined'), 'passing'],
  ['helm too slow', new HelmError('deadline', 'helm did not end in time', ''), 'passing'],
  ['helm stopped', new HelmError('aborted', 'helm was stopped', ''), 'passing'],
  ['helm killed', helmErrorOf(undefined, 137, 'half a sentence'), 'passing'],
  ['no helm', helmErrorOf(undefined, 127, 'spawn helm ENOENT'), 'passing'],
  [
    'a template',
    helm('Error: template: c/templates/a.yaml:1:3: executing "a" at <fail>: on purpose'),
    'failed',
  ],
  ['a template cut off', helm('Error: parse error at (c/templates/a.yaml:1): unexpected EOF'), 'failed'],
  ['values', helm("Error: values don't meet the specifications of the schema(s)"), 'failed'],
  ['no chart', helm('Error: path "/nowhere" not found'), 'failed'],
  [
    'an object refused',
    helm('Error: Deployment.apps "x" is invalid: spec.replicas: Invalid value'),
    'failed',
  ],
  ['helm without rights', helm('Error: secrets is forbidden: User "x" cannot create resource'), 'failed'],
  ['a quota over helm', helm('Error: services "a" is forbidden: exceeded quota: small'), 'failed'],
  ['admission away', helm('Error: Internal error occurred: failed calling webhook "a.b"'), 'passing'],
  ['helm finds nobody', helm('Error: Kubernetes cluster unreachable: connection refused'), 'passing'],
  ['helm is cut off', helm('Error: Post "https://a/b": EOF'), 'passing'],
  ['etcd', helm('Error: etcdserver: request timed out'), 'passing'],
  ['another helm', helm('Error: another operation (install/upgrade/rollback) is in progress'), 'passing'],
  ['helm too late', helm('Error: Operation cannot be fulfilled: the object has been modified'), 'passing'],
  ['helm in a namespace that goes', helm('Error: x is forbidden because it is being terminated'), 'passing'],
]

describe('failed or slow', () => {
  it.each(TABLE)('%s', (_name, error, kind) => {
    expect(judge('release', error).kind).toBe(kind)
  })

  it('keeps what was said, within bounds', () => {
    const judgement = judge('release', helm(`a warning\nError: ${'x'.repeat(9_000)}`))
    if (judgement.kind !== 'failed') throw new Error('not failed')
    expect(judgement.failure.message).toHaveLength(2_048)
    expect(judgement.failure.evidence).toContain('a warning')
  })
})
