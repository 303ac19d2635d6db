import { randomBytes, randomUUID } from 'node:crypto'
import { type Route, ROUTES } from '@service/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServiceTokens, type TokenKind } from '../../src/tokens/tokens.ts'
import { createTokenVerifier } from '../../src/tokens/verifier.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'
import { call, cookieOf, CUSTOMER, MSSP, startHttp } from '../support/http.ts'

/** Tokens by what is wrong with them, against every operation that is not public. */
const KINDS = ['adapter', 'worker'] as const satisfies readonly TokenKind[]

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
/** How often a tenant's row was asked for, and how far the verifier's clock has moved. */
let loads = 0
let ahead = 0
beforeAll(async () => {
  fixture = await startFixture()
  const load = async (tenantId: string) => {
    loads += 1
    const [row] = await fixture.all<{ version: number }[]>`
      select token_version as version from tenants where id = ${tenantId} and deleted_at is null`
    return row === undefined ? null : { tokenVersion: row.version }
  }
  const clock = () => new Date(Date.now() + ahead)
  server = await startHttp(fixture, {
    verifyToken: createTokenVerifier({ tokens: fixture.tokens, load, clock }),
  })
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

const newTenant = () =>
  createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant: tenantInput() })
const codeOf = async (route: Route, authorization: string | null): Promise<unknown> => {
  const { host, origin } = route.access.kind === 'tenant' ? CUSTOMER : MSSP
  const headers = { host, origin, ...(authorization === null ? {} : { authorization }) }
  const path = route.path.replace('{id}', randomUUID())
  const { status, body } = await call(server.port, { method: route.method, path, headers })
  return body.code ?? status
}
const isKind = (kind: string): kind is TokenKind => (KINDS as readonly string[]).includes(kind)
const surfaces = (Object.entries(ROUTES) as [string, Route][]).filter(
  ([, { access }]) => access.kind !== 'public',
)
const workloads = surfaces.filter(([, { access }]) => isKind(access.kind))

describe('tokens', () => {
  type Sample = { readonly kind: TokenKind; readonly what: string; readonly token: string }
  const good: Sample[] = []
  /** Refused by the tenant's row. */
  const dead: Sample[] = []
  /** Refused before any row is asked for. */
  const forged: Sample[] = []
  const seen = { operations: surfaces.length, cells: 0, passed: 0, queriesForForged: 0 }

  beforeAll(async () => {
    const [tenant, gone] = [await newTenant(), await newTenant()]
    await fixture.all`update tenants set deleted_at = now() where id = ${gone.id}`
    const { tokens } = fixture
    const foreign = createServiceTokens(
      { adapter: [randomBytes(32)], worker: [randomBytes(32)] },
      () => new Date(),
    )
    const subject = { tenantId: tenant.id, tokenVersion: 1 }
    for (const kind of KINDS) {
      const add = async (to: Sample[], what: string, minted: Promise<{ token: string }>) =>
        to.push({ kind, what, token: (await minted).token })
      await add(good, 'own', tokens.mint(kind, subject))
      await add(dead, 'of another version', tokens.mint(kind, { ...subject, tokenVersion: 2 }))
      await add(dead, 'of a deleted tenant', tokens.mint(kind, { tenantId: gone.id, tokenVersion: 1 }))
      await add(dead, 'of no tenant', tokens.mint(kind, { tenantId: randomUUID(), tokenVersion: 1 }))
      await add(forged, 'under another key', foreign.mint(kind, subject))
      const [head = '', claims = '', signature = ''] = (await tokens.mint(kind, subject)).token.split('.')
      const other = (await tokens.mint(kind, { ...subject, tenantId: gone.id })).token.split('.')[1] ?? ''
      const none = Buffer.from('{"alg":"none","typ":"adapter+jwt"}').toString('base64url')
      for (const [what, token] of [
        ['with claims of another', `${head}.${other}.${signature}`],
        ['without a signature', `${head}.${claims}.`],
        ['that asks for none', `${none}.${claims}.`],
        ['cut short', `${head}.${claims}.${signature.slice(0, -4)}`],
        ['that is a cookie', cookieOf('platform_admin')],
        ['that is an id', randomUUID()],
      ] as const)
        forged.push({ kind, what, token })
    }
  })
  afterAll(() => console.log(`S6: ${JSON.stringify(seen)}`))

  test.each(surfaces)('%s: takes its own kind alone', async (_, route) => {
    const { kind } = route.access
    for (const sample of [...good, ...dead, ...forged]) {
      seen.cells += 1
      const own = good.includes(sample) && sample.kind === kind
      const before = loads
      const code = await codeOf(route, `Bearer ${sample.token}`)
      const what = `${sample.kind} ${sample.what}`
      if (own) expect(['invalid_token', 'unauthenticated'], what).not.toContain(code)
      else expect(code, what).toBe(isKind(kind) ? 'invalid_token' : 'unauthenticated')
      if (own) seen.passed += 1
      // Nobody's row is read for what was not signed for this surface.
      if (forged.includes(sample) || sample.kind !== kind) seen.queriesForForged += loads - before
    }
    expect(seen.queriesForForged).toBe(0)
  })

  test.each(workloads)('%s: nothing without one', async (_, route) => {
    for (const authorization of [null, '', 'Bearer', `Basic ${good[0]?.token ?? ''}`])
      expect(await codeOf(route, authorization)).toBe('invalid_token')
  })
})

test('tokens end within five seconds of their tenant’s deletion or of a new version', async () => {
  for (const [name, route] of workloads) {
    const { kind } = route.access
    if (!isKind(kind)) continue
    for (const end of ['deleted_at = now()', 'token_version = token_version + 1']) {
      const { id } = await newTenant()
      const { token } = await fixture.tokens.mint(kind, { tenantId: id, tokenVersion: 1 })
      const ask = () => codeOf(route, `Bearer ${token}`)
      expect(await ask(), name).not.toBe('invalid_token')
      await fixture.all.unsafe(`update tenants set ${end} where id = '${id}'`)
      ahead += 5_000
      expect(await ask(), `${name} ${end}`).toBe('invalid_token')
    }
  }
})
