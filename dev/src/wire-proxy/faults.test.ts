import { describe, expect, it } from 'vitest'
import { describeRequest, strikes } from './faults.ts'

const seen = (method: string, url: string) => {
  const { kind, resource } = describeRequest(method, url)
  return `${kind} ${resource}`
}

describe('describeRequest', () => {
  it.each([
    ['GET', '/api/v1/namespaces', 'list namespaces'],
    ['GET', '/api/v1/namespaces/a', 'other namespaces'],
    ['PUT', '/api/v1/namespaces/a/finalize', 'other namespaces'],
    ['GET', '/api/v1/namespaces/a/configmaps?limit=500', 'list configmaps'],
    ['GET', '/api/v1/namespaces/a/configmaps?watch=true', 'watch configmaps'],
    ['GET', '/api/v1/configmaps?watch=1', 'watch configmaps'],
    ['POST', '/api/v1/namespaces/a/configmaps', 'other configmaps'],
    ['GET', '/api/v1/namespaces/a/pods/b/log', 'other pods'],
    ['GET', '/apis/apps/v1/deployments', 'list deployments'],
    ['PATCH', '/apis/service.dev/v1alpha1/namespaces/a/tenants/b/status', 'other tenants'],
    ['GET', '/apis/apps/v1', 'other null'],
    ['GET', '/readyz', 'other null'],
  ])('%s %s', (method, url, expected) => {
    expect(seen(method, url)).toBe(expected)
  })

  it('finds the bearer token', () => {
    expect(describeRequest('GET', '/readyz', 'Bearer abc').token).toBe('abc')
    expect(describeRequest('GET', '/readyz', 'Basic abc').token).toBeNull()
  })
})

describe('strikes', () => {
  const watch = describeRequest('GET', '/api/v1/pods?watch=true', 'Bearer old')
  const list = describeRequest('GET', '/api/v1/pods', 'Bearer old')

  it('keeps to the kinds and the resource of the rule', () => {
    const fault = { type: 'reset' } as const
    expect(strikes({ fault }, list)).toBe(true)
    expect(strikes({ kinds: ['watch'], fault }, list)).toBe(false)
    expect(strikes({ resource: 'pods', fault }, list)).toBe(true)
    expect(strikes({ resource: 'secrets', fault }, list)).toBe(false)
  })

  it('knows that only watches have lines', () => {
    expect(strikes({ fault: { type: 'garbage' } }, list)).toBe(false)
    expect(strikes({ fault: { type: 'garbage' } }, watch)).toBe(true)
  })

  it('refuses one token only', () => {
    expect(strikes({ fault: { type: 'refuse-token', token: 'old' } }, list)).toBe(true)
    expect(strikes({ fault: { type: 'refuse-token', token: 'new' } }, list)).toBe(false)
  })
})
