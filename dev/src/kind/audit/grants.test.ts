import { describe, expect, it } from 'vitest'
import { covers, isForEverybody, readGrants, singleGrants } from './grants.ts'
import type { AuditEvent } from './grants.ts'

const RENDERED = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: reader }
rules:
  - { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }
  - { apiGroups: ["service.dev"], resources: ["tenants/status"], verbs: ["patch"] }
---
kind: ClusterRoleBinding
metadata: { name: everywhere }
roleRef: { kind: ClusterRole, name: reader }
subjects: [{ kind: ServiceAccount, name: api, namespace: home }]
---
kind: Role
metadata: { name: leader }
rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["one"], verbs: ["update"] }]
---
kind: RoleBinding
metadata: { name: here }
roleRef: { kind: Role, name: leader }
subjects: [{ kind: ServiceAccount, name: operator }]
---
`
const grants = readGrants(RENDERED, 'home')
const ask = (account: string, verb: string, objectRef: AuditEvent['objectRef']): AuditEvent => ({
  verb,
  requestURI: '/',
  user: { username: `system:serviceaccount:home:${account}` },
  ...(objectRef === undefined ? {} : { objectRef }),
})
const covered = (event: AuditEvent): boolean => grants.some((grant) => covers(grant, event))

describe('what rendered roles grant', () => {
  it('covers what a rule names, in the namespaces of its binding', () => {
    expect(covered(ask('api', 'get', { resource: 'secrets', namespace: 'any', name: 'x' }))).toBe(true)
    const lease = { apiGroup: 'coordination.k8s.io', resource: 'leases', name: 'one' }
    expect(covered(ask('operator', 'update', { ...lease, namespace: 'home' }))).toBe(true)
    expect(covered(ask('operator', 'update', { ...lease, namespace: 'other' }))).toBe(false)
    expect(covered(ask('operator', 'update', { ...lease, namespace: 'home', name: 'two' }))).toBe(false)
    expect(
      covered(ask('operator', 'update', { apiGroup: lease.apiGroup, resource: 'leases', namespace: 'home' })),
    ).toBe(false)
  })

  it.each([
    ['another account', ask('operator', 'get', { resource: 'secrets', namespace: 'home' })],
    ['another verb', ask('api', 'delete', { resource: 'secrets', namespace: 'home' })],
    ['another group', ask('api', 'get', { apiGroup: 'x.dev', resource: 'secrets', namespace: 'home' })],
    ['the resource of a subresource', ask('api', 'patch', { apiGroup: 'service.dev', resource: 'tenants' })],
    ['what names no object', ask('api', 'get', undefined)],
  ])('does not cover %s', (_what, event) => {
    expect(covered(event)).toBe(false)
  })

  it('is counted verb by verb', () => {
    expect(singleGrants(grants).map(({ label }) => label)).toEqual([
      'api: reader: get secrets',
      'api: reader: list secrets',
      'api: reader: patch tenants/status.service.dev',
      'operator: leader: update leases.coordination.k8s.io',
    ])
  })

  it('wants every role that is bound', () => {
    const [first = ''] = RENDERED.split('---\n')
    expect(() => readGrants(RENDERED.replace(first, ''), 'home')).toThrow(/everywhere/)
  })
})

it("discovery and the question for one's own rights are for everybody", () => {
  const plain = ask('api', 'get', undefined)
  expect(isForEverybody({ ...plain, requestURI: '/apis/apps/v1?timeout=32s' })).toBe(true)
  expect(isForEverybody({ ...plain, requestURI: '/logs' })).toBe(false)
  expect(isForEverybody({ ...plain, verb: 'create', requestURI: '/api' })).toBe(false)
  const review = { apiGroup: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }
  expect(isForEverybody(ask('api', 'create', review))).toBe(true)
  expect(isForEverybody(ask('api', 'create', { ...review, resource: 'subjectaccessreviews' }))).toBe(false)
})
