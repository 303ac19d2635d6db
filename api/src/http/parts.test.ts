import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSessionCookie, sessionCookie } from './cookies.ts'
import { passesCsrf } from './csrf.ts'
import { classifyHost, type HostTable } from './hosts.ts'
import { nestsDeeperThan, parseJson } from './json.ts'
import { queryObject } from './query.ts'
import { createRouteTable, matchRoute } from './route-table.ts'
import type { Handlers } from './types.ts'

const HOSTS: HostTable = {
  msspOrigins: ['http://localhost:8080', 'https://console.example.com'],
  customer: { protocol: 'http:', base: 'localhost:8080' },
}

describe('hosts', () => {
  test.each([
    ['localhost:8080', 'mssp'],
    ['LOCALHOST:8080', 'mssp'],
    ['console.example.com', 'mssp'],
    ['console.example.com:443', 'mssp'],
    ['acme.localhost:8080', 'customer'],
    ['Acme.localhost:8080', 'customer'],
    ['nobody.localhost:8080', 'customer'],
    ['acme.localhost', 'other'],
    ['acme.localhost:8081', 'other'],
    ['a.acme.localhost:8080', 'other'],
    ['-x.localhost:8080', 'other'],
    ['evil.example', 'other'],
    ['localhost:8080@evil.example', 'other'],
    ['localhost:8080/x', 'other'],
    ['', 'other'],
    [undefined, 'other'],
  ])('%s is %s', (header, kind) => {
    expect(classifyHost(header, HOSTS).kind).toBe(kind)
  })
  test('a customer host carries its slug and its origin by configuration', () => {
    expect(classifyHost('ACME.localhost:8080', HOSTS)).toEqual({
      kind: 'customer',
      slug: 'acme',
      origin: 'http://acme.localhost:8080',
    })
  })
})

describe('csrf', () => {
  const own = 'http://localhost:8080'
  test.each([
    ['GET', undefined, undefined, true],
    ['POST', own, undefined, true],
    ['POST', own, 'http://evil.example/', true],
    ['POST', 'null', `${own}/x`, false],
    ['POST', '', `${own}/x`, false],
    ['POST', 'http://acme.localhost:8080', undefined, false],
    ['POST', `${own}, ${own}`, undefined, false],
    ['POST', 'http://localhost:8081', undefined, false],
    ['POST', 'https://localhost:8080', undefined, false],
    ['POST', undefined, `${own}/login?next=/`, true],
    ['POST', undefined, 'http://localhost:8080.evil.example/', false],
    ['POST', undefined, 'not an address', false],
    ['POST', undefined, undefined, false],
    ['PUT', undefined, undefined, false],
    ['PATCH', undefined, undefined, false],
    ['DELETE', undefined, undefined, false],
  ])('%s with origin %s and referer %s: %s', (method, origin, referer, passes) => {
    expect(passesCsrf(method, { origin, referer }, own)).toBe(passes)
  })
  test('a host without an origin takes no changes', () => {
    expect(passesCsrf('POST', { origin: 'null', referer: undefined }, null)).toBe(false)
  })
})

describe('cookies', () => {
  test.each([
    ['service_session=abc', 'abc'],
    ['a=1; service_session=abc; b=2', 'abc'],
    ['service_session=abc; service_session=abc', null],
    ['service_session=; a=1', null],
    ['xservice_session=abc', null],
    [undefined, null],
  ])('%s reads as %s', (header, value) => expect(readSessionCookie(header)).toBe(value))

  test('carries the attributes of the specification', () => {
    const now = new Date('2026-01-01T00:00:00Z')
    const expiry = new Date('2026-01-01T12:00:00Z')
    expect(sessionCookie('v', expiry, { secure: true, now })).toBe(
      'service_session=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure',
    )
    expect(sessionCookie('v', expiry, { secure: false, now })).not.toContain('Secure')
  })
})

describe('json', () => {
  test('counts nesting outside strings only', () => {
    expect(nestsDeeperThan('["[[[[\\"[[["]', 1)).toBe(false)
    expect(nestsDeeperThan('[[1]]', 1)).toBe(true)
  })
  test('agrees with the nesting of what JSON.stringify writes', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map((child) => depthOf(child)))
        : 0
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const depth = depthOf(value)
        expect(nestsDeeperThan(JSON.stringify(value), depth)).toBe(false)
        if (depth > 0) expect(nestsDeeperThan(JSON.stringify(value), depth - 1)).toBe(true)
      }),
    )
  })
  test('refuses depth over 1000, bad UTF-8 and bad JSON, and survives a million brackets', () => {
    const bytes = (text: string) => new TextEncoder().encode(text)
    expect(parseJson(bytes(`${'['.repeat(1000)}${']'.repeat(1000)}`))).toBeInstanceOf(Array)
    expect(() => parseJson(bytes(`${'['.repeat(1001)}${']'.repeat(1001)}`))).toThrow('nested deeper')
    expect(() => parseJson(bytes('['.repeat(1_000_000)))).toThrow('nested deeper')
    expect(() => parseJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow('UTF-8')
    expect(() => parseJson(bytes('{'))).toThrow('not valid JSON')
  })
})

test('query strings become texts and lists, and cannot reach a prototype', () => {
  const query = queryObject(new URLSearchParams('a=1&b=2&b=3&__proto__=x'))
  expect(Object.entries(query)).toEqual([
    ['a', '1'],
    ['b', ['2', '3']],
    ['__proto__', 'x'],
  ])
  expect(Object.getPrototypeOf(query)).toBe(Object.prototype)
})

describe('route table', () => {
  const handlers = new Proxy({}, { get: () => async () => ({ body: null }) }) as Handlers
  const table = createRouteTable(handlers, 'internal')
  const found = (method: string, path: string) => {
    const match = matchRoute(table, method, path)
    return match.kind === 'found' ? match.matched.id : match.kind
  }
  test.each([
    ['GET', '/api/mssp/tenants', 'mssp.tenants.list'],
    ['HEAD', '/api/mssp/tenants', 'mssp.tenants.list'],
    ['POST', '/api/mssp/tenants', 'mssp.tenants.create'],
    ['POST', '/api/mssp/tenants/onboard', 'mssp.tenants.onboard'],
    ['GET', '/api/mssp/tenants/abc', 'mssp.tenants.get'],
    ['GET', '/api/mssp/tenants/abc/lifecycle', 'mssp.tenants.lifecycle'],
    ['GET', '/api/mssp/tenants/abc:nothing', 'unknown_path'],
    ['GET', '/api/mssp/tenants/', 'unknown_path'],
    ['GET', '/api/mssp/tenants/a/b', 'unknown_path'],
    ['GET', '/health/live', 'health.live'],
    ['GET', '/api/health/live', 'health.live'],
    ['GET', '/api/adapter/health', 'unknown_path'],
    ['DELETE', '/api/mssp/tenants', 'unknown_method'],
  ])('%s %s is %s', (method, path, expected) => expect(found(method, path)).toBe(expected))

  test('says which methods a path has', () => {
    expect(matchRoute(table, 'DELETE', '/api/mssp/tenants')).toEqual({
      kind: 'unknown_method',
      allow: ['GET', 'HEAD', 'POST'],
    })
  })
  test('decodes parameters once and keeps what is not decodable', () => {
    const match = matchRoute(table, 'GET', '/api/mssp/tenants/%41%2Fb')
    expect(match.kind === 'found' && match.matched.params).toEqual({ id: 'A/b' })
    const broken = matchRoute(table, 'GET', '/api/mssp/tenants/%E0%A4%A')
    expect(broken.kind === 'found' && broken.matched.params).toEqual({ id: '%E0%A4%A' })
  })
  test('has no authentication routes in proxy mode', () => {
    const proxy = createRouteTable(handlers, 'proxy')
    expect(matchRoute(proxy, 'POST', '/api/auth/login').kind).toBe('unknown_path')
    expect(matchRoute(proxy, 'GET', '/api/mssp/me').kind).toBe('found')
  })
})
