import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { capabilitiesOf, permissionsOf } from './capabilities.ts'
import { ERRORS, ServiceError } from './errors.ts'
import { namespaceOf, RESERVED_SLUGS, SLUG } from './names.ts'
import { actorOf } from './principal.ts'
import { PROFILES } from './profiles.ts'
import { MSSP_ROLES, ROLES, TENANT_ROLES } from './roles.ts'

const includes = (outer: readonly string[], inner: readonly string[]): boolean =>
  inner.every((each) => outer.includes(each))

describe('capabilities', () => {
  it('nest by tier on each side', () => {
    for (const side of [MSSP_ROLES, TENANT_ROLES])
      for (const [index, role] of side.entries()) {
        const lower = side[index + 1]
        if (lower !== undefined) expect(includes(capabilitiesOf(role), capabilitiesOf(lower))).toBe(true)
      }
  })

  it('are unique for a role and sorted as permissions', () => {
    for (const role of ROLES) {
      expect(new Set(capabilitiesOf(role)).size).toBe(capabilitiesOf(role).length)
      expect(permissionsOf(role)).toEqual([...capabilitiesOf(role)].toSorted())
    }
  })

  it.each([
    ['analyst', 'tenant.write', false],
    ['mssp_manager', 'tenant.write', false],
    ['mssp_admin', 'tenant.write', true],
    ['mssp_admin', 'platform.admin', false],
    ['platform_admin', 'platform.admin', true],
    ['customer_viewer', 'review.read', false],
    ['tenant_analyst', 'review.decide', true],
    ['tenant_manager', 'user.write', false],
    ['tenant_admin', 'user.write', true],
  ] as const)('%s and %s: %s', (role, capability, held) => {
    expect(capabilitiesOf(role).includes(capability)).toBe(held)
  })
})

describe('slug', () => {
  it.each(['a', 'acme', 'a-1', 'a'.repeat(40)])('takes %s', (slug) => {
    expect(SLUG.test(slug)).toBe(true)
  })
  it.each(['', '1a', '-a', 'a-', 'A', 'a_b', 'a.b', 'a'.repeat(41), 'acme\n', ' acme'])(
    'refuses %j',
    (slug) => {
      expect(SLUG.test(slug)).toBe(false)
    },
  )
  it('always makes a namespace that Kubernetes takes', () => {
    fc.assert(
      fc.property(fc.stringMatching(SLUG), (slug) => {
        expect(namespaceOf(slug)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
        expect(namespaceOf(slug).length).toBeLessThanOrEqual(63)
      }),
    )
  })
  it('reserves only names that could be slugs', () => {
    for (const reserved of RESERVED_SLUGS) expect(reserved).toMatch(SLUG)
  })
})

describe('profiles', () => {
  it('keep the sizes of the specification for pilot', () => {
    expect(PROFILES.pilot).toMatchObject({
      readinessTimeoutMs: 900_000,
      dashboard: true,
      wazuh: {
        manager: { resources: { requests: { cpu: '200m', memory: '512Mi' } }, storage: '20Gi' },
        indexer: { resources: { limits: { cpu: '2', memory: '4Gi' } }, storage: '50Gi', heap: '1g' },
      },
      quota: { requests: { cpu: '3', memory: '8Gi' }, persistentVolumeClaims: 10, pods: 50 },
    })
    expect(PROFILES['small-dev']).toMatchObject({ readinessTimeoutMs: 1_800_000, dashboard: false })
  })
})

describe('errors', () => {
  it('have a status of their kind and a title', () => {
    for (const { status, title } of Object.values(ERRORS)) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
      expect(title.length).toBeGreaterThan(3)
    }
  })
  it('speak with their title when nothing better is said', () => {
    expect(new ServiceError('not_found').message).toBe(ERRORS.not_found.title)
  })
})

describe('actorOf', () => {
  it('names each principal as the audit record wants it', () => {
    expect(actorOf({ kind: 'system', reason: 'projector' })).toEqual({
      principal: 'System',
      id: 'system:projector',
    })
    expect(actorOf({ kind: 'adapter', tenantId: 't', tokenVersion: 1 })).toEqual({
      principal: 'Adapter',
      id: 't',
    })
  })
})
