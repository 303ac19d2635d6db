import { ROUTES, type RouteId } from '@service/wire'
import axe from 'axe-core'
import { type AxiosRequestConfig, type AxiosResponse } from 'axios'
import { type Document, OpenAPIClientAxios } from 'openapi-client-axios'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Browser, hasBrowser, startBrowser } from '../../../dev/src/browser/index.ts'
import { VERSION } from '../../src/version.ts'
import { undocumented } from '../support/documented.ts'
import { type Fixture, freshSlug, startFixture } from '../support/fixture.ts'
import { callText, cookieOf, CUSTOMER, MSSP, signedInSides, startHttp } from '../support/http.ts'

let fixture: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
let sides: Awaited<ReturnType<typeof signedInSides>>
beforeAll(async () => {
  fixture = await startFixture()
  server = await startHttp(fixture)
  sides = await signedInSides(fixture)
})
afterAll(async () => {
  await server?.stop()
  await fixture?.stop()
})

describe('the document and its page', () => {
  test('are public in both auth modes', async () => {
    const identityProxy = {
      headers: { user: 'x-user', email: 'x-email', groups: 'x-groups' },
      trusts: () => false,
      resolve: () => Promise.reject(new Error('nobody is asked for')),
      enter: () => Promise.reject(new Error('nobody enters')),
    }
    const proxy = await startHttp(fixture, { identityProxy })
    for (const { port } of [server, proxy])
      for (const [path, type] of [
        ['/api/openapi.json', 'application/json'],
        ['/api/docs', 'text/html; charset=utf-8'],
        ['/api/docs/page.css', 'text/css; charset=utf-8'],
        ['/api/docs/page.js', 'text/javascript; charset=utf-8'],
      ] as const) {
        const { status, headers } = await callText(port, { path })
        expect([status, headers['content-type']]).toEqual([200, type])
      }
    await proxy.stop()
  })

  test('the page needs only files of its own, and its policy allows no more', async () => {
    const { headers, text } = await callText(server.port, { path: '/api/docs' })
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("script-src 'self'")
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|https?:|\/\/[a-z]/i)
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)/)
    const links = [...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, link]) => link ?? '')
    expect(links).toContain('/api/docs/page.js')
    for (const path of links) expect((await callText(server.port, { path })).status).toBe(200)
    const script = await callText(server.port, { path: '/api/docs/page.js' })
    expect(script.headers['content-security-policy']).not.toContain('script-src')
    expect(script.text).not.toMatch(/innerHTML|insertAdjacentHTML|eval\(/)
  })
})

describe.skipIf(!hasBrowser())('the page in a browser', () => {
  const OPERATIONS = `${Object.keys(ROUTES).length} operations`
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser(MSSP.origin, `127.0.0.1:${server.port}`)
  })
  afterAll(() => browser?.close())

  const open = async (colorScheme: 'light' | 'dark' = 'light') => {
    const watched = await browser.open({ colorScheme })
    await watched.page.goto('/api/docs')
    await watched.page.getByRole('status').getByText(OPERATIONS).waitFor()
    const focused = () => watched.page.evaluate<string>('document.activeElement.closest("[id]")?.id ?? ""')
    return { ...watched, focused }
  }

  test('shows everything, asks only its own origin, and nothing goes wrong', async () => {
    const { page, requests, troubles, close } = await open()
    expect(requests).toEqual(['/api/docs', '/api/docs/page.css', '/api/docs/page.js', '/api/openapi.json'])
    expect(await page.locator('main details').count()).toBeGreaterThan(Object.keys(ROUTES).length)
    expect(troubles).toEqual([])
    await close()
  })

  test('runs no script and takes no style that stands in the page, and asks nobody else', async () => {
    const { page, troubles, close } = await open()
    const added = await page.evaluate<unknown>(`(async () => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.injected = true'
      document.body.append(script)
      document.body.setAttribute('style', 'display: none')
      await fetch('http://elsewhere.example/').catch(() => undefined)
      await new Promise((done) => setTimeout(done, 100))
      return [globalThis.injected ?? null, getComputedStyle(document.body).display]
    })()`)
    expect(added).toEqual([null, 'block'])
    const refused = troubles.filter((each) => each.startsWith('policy: '))
    expect(refused).toEqual([
      'policy: script-src-elem inline',
      'policy: style-src-attr inline',
      'policy: connect-src http://elsewhere.example/',
    ])
    await close()
  })

  test('is used by keys alone, and shows where one is', async () => {
    const { page, focused, troubles, close } = await open()
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await press('Tab')
    expect(await page.evaluate('document.activeElement.className')).toBe('skip')
    await press('Tab', 'Tab')
    expect(await focused()).toBe('theme')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await press('j', 'j', 'Enter')
    expect(await focused()).toBe('health.ready')
    expect(await page.locator('details[open]').evaluateAll((open) => open.map(({ id }) => id))).toEqual([
      'health.ready',
    ])
    await press('/')
    await page.keyboard.type('assume')
    await page.getByText('1 operation', { exact: true }).waitFor()
    await press('Escape')
    await page.getByText(OPERATIONS).waitFor()
    expect(troubles).toEqual([])
    await close()
  })

  test.each(['light', 'dark'] as const)('is readable in %s, and in the other when chosen', async (scheme) => {
    const { page, close } = await open(scheme)
    const lightness = () =>
      page.evaluate<number>(
        'Math.max(...getComputedStyle(document.documentElement).backgroundColor.match(/[0-9]+/g).slice(0, 3))',
      )
    const unreadable = () =>
      page.evaluate<unknown[]>(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
      )
    const isDark = async () => (await lightness()) < 64
    // One area with an open operation has everything that the others have; all of them take axe too long.
    await page.getByRole('searchbox').fill('health.')
    await page.locator('main summary').first().click()
    await page.evaluate('document.querySelectorAll("[hidden]").forEach((part) => part.remove())')
    await page.evaluate(axe.source)
    expect([await isDark(), await unreadable()]).toEqual([scheme === 'dark', []])
    await page.getByRole('button', { name: scheme === 'dark' ? 'Light' : 'Dark' }).click()
    expect([await isDark(), await unreadable()]).toEqual([scheme === 'light', []])
    await page.reload()
    expect(await isDark()).toBe(scheme === 'light')
    await close()
  })
})

type Call = (
  parameters?: Record<string, unknown> | null,
  body?: unknown,
  config?: AxiosRequestConfig,
) => Promise<AxiosResponse>

/** A client that is made from the document as it is served, and knows nothing else. */
async function clientOf(headers: Record<string, string>): Promise<Record<RouteId, Call>> {
  const { text } = await callText(server.port, { path: '/api/openapi.json' })
  const definition = JSON.parse(text) as Document
  expect(definition.info.version).toBe(VERSION)
  const api = new OpenAPIClientAxios({
    definition,
    withServer: { url: `http://127.0.0.1:${server.port}` },
    axiosConfigDefaults: {
      headers,
      validateStatus: () => true,
      // Lists as OpenAPI writes them: the key again and again.
      paramsSerializer: { indexes: null },
      // Kept as it came, so that it can be held against the document.
      transformResponse: (body: unknown) => body,
    },
  })
  return (await api.init()) as unknown as Record<RouteId, Call>
}

/** The answer as JSON, when the document knows it. */
async function documented(answer: Promise<AxiosResponse>) {
  const { status, headers, data, config } = await answer
  const method = (config.method ?? 'get').toUpperCase()
  const path = new URL(config.url ?? '', 'http://localhost').pathname
  const plain = Object.fromEntries(Object.entries(headers))
  expect(undocumented({ method, path, status, headers: plain, text: String(data) })).toBeNull()
  const isJson = String(plain['content-type'] ?? '').includes('json')
  const body: unknown = isJson && !String(plain['content-type']).includes('ndjson') ? JSON.parse(data) : data
  return { status, headers: plain, body: body as Record<string, unknown> }
}

describe('a client made from the document', () => {
  test('has every operation of the route table', async () => {
    const client = await clientOf({})
    for (const id of Object.keys(ROUTES) as RouteId[]) expect(client[id], id).toBeTypeOf('function')
  })

  test('makes, reads and acts on a tenant, and every answer is as documented', async () => {
    const admin = { host: MSSP.host, origin: MSSP.origin, cookie: cookieOf('platform_admin') }
    const client = await clientOf(admin)
    const input = { slug: freshSlug(), display_name: 'By a client', contact_email: 'c@client.example' }
    const made = await documented(client['mssp.tenants.create'](null, input))
    expect(made).toMatchObject({ status: 201, body: { slug: input.slug, state: 'pending' } })
    const id = String(made.body.id)
    const again = await documented(client['mssp.tenants.create'](null, input))
    expect(again).toMatchObject({ status: 409, body: { code: 'slug_taken' } })
    const wrong = await documented(client['mssp.tenants.create'](null, { ...input, slug: 'UPPER' }))
    expect(wrong).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    const list = await documented(client['mssp.tenants.list']({ limit: 1, total: true, state: ['pending'] }))
    expect(list).toMatchObject({ status: 200, body: { items: [{ id }], total: 1 } })
    expect(await documented(client['mssp.tenants.get']({ id }))).toMatchObject({ body: { id } })
    expect(await documented(client['mssp.tenants.lifecycle']({ id }))).toMatchObject({ status: 200 })
    const retry = await documented(client['mssp.tenants.retry']({ id }))
    expect(retry).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    expect(await documented(client['mssp.tenants.get']({ id: 'x' }))).toMatchObject({ status: 404 })
  })

  test('manages users once by a key, and reads the audit in each of its forms', async () => {
    const client = await clientOf({ ...MSSP, cookie: cookieOf('platform_admin') })
    const input = { email: 'made.by@client.example', role: 'analyst' }
    const key = { 'Idempotency-Key': 'once' }
    const made = await documented(client['mssp.users.create'](key, input))
    const replayed = await documented(client['mssp.users.create'](key, input))
    expect([made.status, replayed.status]).toEqual([201, 201])
    expect(replayed.headers['idempotency-replayed']).toBe('true')
    expect(replayed.body).toEqual({ ...made.body, temporary_password: null })
    const id = sides.staffId
    expect(await documented(client['mssp.users.get']({ id }))).toMatchObject({ status: 200 })
    expect(await documented(client['mssp.users.update']({ id }, { display_name: 'Renamed' }))).toMatchObject({
      status: 200,
      body: { display_name: 'Renamed' },
    })
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const audit = await documented(client['mssp.audit.list']({ limit: 5 }, null, { headers: { accept } }))
      expect(audit.status).toBe(200)
      expect(audit.headers['content-type']).toContain(accept)
    }
    const customer = await clientOf({ ...CUSTOMER, cookie: cookieOf('customer_viewer') })
    expect(await documented(customer['tenant.audit.list']())).toMatchObject({ status: 200 })
    expect(await documented(customer['tenant.users.list']())).toMatchObject({ status: 403 })
    expect(await documented((await clientOf({ ...MSSP }))['mssp.users.list']())).toMatchObject({
      status: 401,
    })
  })

  test('speaks as a workload with its token', async () => {
    const admin = await clientOf({ ...MSSP, cookie: cookieOf('platform_admin') })
    const input = { slug: freshSlug(), display_name: 'Of an adapter' }
    const { body } = await documented(admin['mssp.tenants.create'](null, input))
    const tenantId = String(body.id)
    const { token } = await fixture.tokens.mint('adapter', { tenantId, tokenVersion: 1 })
    const client = await clientOf({ authorization: `Bearer ${token}` })
    expect(await documented(client['adapter.config']())).toMatchObject({ body: { slug: input.slug } })
    const beat = { tenant_id: tenantId, version: '1', health: 'ok' }
    expect(await documented(client['adapter.health'](null, beat))).toMatchObject({ status: 200 })
    const events = [{ source_event_id: 'e-1', severity: 3 }, { severity: 3 }]
    const stored = await documented(client['adapter.events'](null, { events }))
    expect(stored).toMatchObject({ status: 200, body: { accepted: 1, rejected: 1 } })
    expect(await documented(client['adapter.checkpoint.get']())).toMatchObject({ status: 200 })
    const worker = await documented(client['worker.runs.claim'](null, { worker_id: 'w' }))
    expect(worker).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  })
})
