import { describe, expect, it } from 'vitest'
import { byId, mssp, publicAccess, type Route, session, tenant } from '../wire/src/routes/route.ts'
import { ROUTES, Tenant } from '../wire/src/index.ts'
import { routeFindings } from './routes.ts'

const good = {
  method: 'POST',
  path: '/api/mssp/tenants/{id}:suspend',
  summary: 'Suspend a tenant',
  access: mssp('tenant.write'),
  params: byId,
  resource: 'tenant',
  status: 200,
  response: Tenant,
} as const satisfies Route

describe('the route table', () => {
  it('lacks nothing', () => {
    expect(Object.keys(ROUTES).length).toBeGreaterThan(30)
    expect(routeFindings(ROUTES)).toEqual([])
  })

  it.each<[string, Partial<Route>, RegExp]>([
    ['no capability', { access: mssp(null) }, /names no capability/],
    ['the other side’s audience', { access: tenant('user.write') }, /is for mssp, not for tenant/],
    ['any session as its audience', { access: session }, /not for session/],
    ['no audience', { access: publicAccess }, /not for public/],
    ['a path of no class', { path: '/api/things/{id}' }, /no class of routes/],
    [
      'a change for anybody',
      { path: '/api/public/things/{id}', access: publicAccess },
      /without being known/,
    ],
    [
      'no schema of its path',
      { path: '/api/mssp/tenants/{id}/parts/{part}' },
      /names id,part, its schema id$/,
    ],
    ['no schema of its answer', { response: null }, /no schema of its answer/],
    ['no schema of its body', { method: 'PATCH' }, /no schema of its body/],
    ['a body where none is read', { method: 'GET', body: byId }, /GET has no body/],
  ])('takes no row with %s', (_, change, finding) => {
    expect(routeFindings({ 'x.new': { ...good, ...change } })).toEqual([expect.stringMatching(finding)])
  })

  it('takes no row that does not say what its path names', () => {
    const { resource: _, ...row } = good
    expect(routeFindings({ 'x.new': row })).toEqual([expect.stringContaining('what the path names')])
  })

  it('does not compile with a row that leaves out audience, capability or answer', () => {
    const { access: _, ...anonymous } = good
    const { response: __, ...mute } = good
    // @ts-expect-error -- no audience
    const rows: Route[] = [anonymous]
    // @ts-expect-error -- no schema of the answer
    rows.push(mute)
    // @ts-expect-error -- an audience without a capability
    rows.push({ ...good, access: { kind: 'mssp' } })
    // @ts-expect-error -- a capability of the other side
    rows.push({ ...good, access: { kind: 'tenant', capability: 'tenant.write' } })
    expect(rows).toHaveLength(4)
  })
})
