import { request as send } from 'node:http'
import { randomUUID } from 'node:crypto'
import { audienceOfRole, noFailpoints, type Role, type UserPrincipal } from '@service/domain'
import { createApp, type HttpDependencies } from '../../src/http/app.ts'
import { adapterHandlers } from '../../src/http/handlers/adapter.ts'
import { auditHandlers } from '../../src/http/handlers/audit.ts'
import { docsHandlers } from '../../src/http/handlers/docs.ts'
import { tenantHandlers } from '../../src/http/handlers/tenants.ts'
import { userHandlers } from '../../src/http/handlers/users.ts'
import { workerHandlers } from '../../src/http/handlers/worker.ts'
import { appListener, startHttpServer } from '../../src/http/server.ts'
import type { Handlers } from '../../src/http/types.ts'
import { silent } from '../../src/log.ts'
import { once } from '../../src/verbs/once.ts'
import { targetExists } from '../../src/verbs/target.ts'
import { createTokenVerifier } from '../../src/tokens/verifier.ts'
import { VERSION } from '../../src/version.ts'
import { undocumented } from './documented.ts'
import type { Fixture } from './fixture.ts'

export const MSSP = { host: 'localhost:8080', origin: 'http://localhost:8080' } as const
export const CUSTOMER = { host: 'acme.localhost:8080', origin: 'http://acme.localhost:8080' } as const

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Record<string, unknown>
}
export type Call = {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
  /** Sends the body without saying how long it is. */
  readonly chunked?: boolean
  /** Loopback address that the request goes to, and the one that it comes from. */
  readonly to?: string
  readonly from?: string
}

/** One request on the wire, with exactly these headers. */
export async function call(port: number, request: Call): Promise<Answer> {
  const { text, ...answer } = await callText(port, request)
  return { ...answer, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
}

/** The same, for answers that need not be JSON. Every answer has to be one that the OpenAPI document knows. */
export function callText(
  port: number,
  { method = 'GET', path, headers = {}, body, chunked, to = '127.0.0.1', from }: Call,
): Promise<Omit<Answer, 'body'> & { readonly text: string }> {
  return new Promise((resolve, reject) => {
    const length = body === undefined || chunked === true ? {} : { 'content-length': Buffer.byteLength(body) }
    const options = {
      host: to,
      port,
      ...(from === undefined ? {} : { localAddress: from }),
      method,
      path,
      headers: { host: MSSP.host, ...length, ...headers },
    }
    const request = send(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const answer = { status: response.statusCode ?? 0, headers: response.headers, text }
        // What stands in for a handler answers an empty object.
        const gap = text === '{}' ? null : undocumented({ method, path, ...answer })
        if (gap === null) resolve(answer)
        else reject(new Error(`${method} ${path}: the OpenAPI document does not know this answer: ${gap}`))
      })
    })
    // The server may have answered and hung up before a large body was sent.
    request.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' ? undefined : reject(error),
    )
    if (body !== undefined) request.write(body)
    request.end()
  })
}

export const FAKE = {
  userId: '0197a000-0000-7000-8000-0000000000f1',
  tenantId: '0197a000-0000-7000-8000-0000000000f2',
} as const

/** Stands in for the sessions, which have tests of their own: the cookie names the role. */
export const cookieOf = (role: Role, change: 'must-change' | 'usual' = 'usual'): string =>
  `service_session=${role}.${change}`

export function fakeSession(cookie: string, host: { readonly kind: 'mssp' | 'customer' }) {
  const [role, change] = cookie.split('.') as [Role, string]
  const audience = audienceOfRole(role)
  if ((audience === 'mssp') !== (host.kind === 'mssp')) return null
  const { userId } = FAKE
  const tenantId = audience === 'mssp' ? null : FAKE.tenantId
  const principal = {
    kind: 'user',
    audience,
    userId,
    role,
    tenantId,
    currentTenant: null,
    sessionId: null,
  } as UserPrincipal
  const expiry = new Date(Date.now() + 3_600_000)
  const session = {
    id: randomUUID(),
    userId,
    email: 'user@example.com',
    displayName: 'User',
    role,
    tenantId,
    tenantSlug: tenantId === null ? null : 'acme',
    tenantDisplayName: tenantId === null ? null : 'Acme',
    mustChange: change === 'must-change',
    pinned: null,
    expiresAt: expiry,
  }
  return { principal, session }
}

/** The tenant of the customer host, and somebody to act on for both sides. */
export async function signedInSides({ all }: Fixture): Promise<{ staffId: string; customerId: string }> {
  const tenant = {
    display_name: 'Acme',
    profile: 'pilot',
    placement: 'cluster',
    state: 'active',
    config: '{}',
  }
  await all`insert into tenants ${all({ id: FAKE.tenantId, slug: 'acme', ...tenant })}`
  const [staffId, customerId] = [randomUUID(), randomUUID()]
  const staff = { id: staffId, tenant_id: null, role: 'analyst' }
  const customer = { id: customerId, tenant_id: FAKE.tenantId, role: 'customer_viewer' }
  for (const user of [staff, customer])
    await all`insert into users ${all({ ...user, email: `${user.id}@example.com`, display_name: 'U' })}`
  return { staffId, customerId }
}

/** The real pipeline over real verbs; a handler of the auth routes that is reached answers an empty object. */
export async function startHttp(fixture: Fixture, change: Partial<HttpDependencies> = {}) {
  const reached = async () => ({ body: {} })
  const clock = () => new Date()
  const handlers = {
    'health.live': reached,
    'health.ready': reached,
    'auth.login': reached,
    'auth.logout': reached,
    'auth.me': reached,
    'auth.assume-tenant': reached,
    'auth.password.change': reached,
    'mssp.me': reached,
    'tenant.me': reached,
    ...tenantHandlers(fixture.tenants),
    ...auditHandlers(fixture),
    ...userHandlers(fixture.tenants),
    ...adapterHandlers({
      db: fixture.db,
      clock,
      onIngested: () => undefined,
      renewLease: () => undefined,
      hit: noFailpoints,
      heartbeatSeconds: 30,
      pollSeconds: 5,
    }),
    ...workerHandlers({ db: fixture.db }),
    ...docsHandlers(VERSION),
  } as unknown as Handlers
  const load = async (tenantId: string) => {
    const [row] = await fixture.all<{ version: number }[]>`
      select token_version as version from tenants where id = ${tenantId} and deleted_at is null`
    return row === undefined ? null : { tokenVersion: row.version }
  }
  const log = change.log ?? silent
  const app = createApp({
    hosts: {
      msspOrigins: [MSSP.origin, 'https://console.example.com'],
      customer: { protocol: 'http:', base: 'localhost:8080' },
    },
    cookieSecure: true,
    clock,
    log,
    handlers,
    onRequest: () => undefined,
    resolveSession: async (cookie, host) => fakeSession(cookie, host),
    identityProxy: null,
    verifyToken: createTokenVerifier({ tokens: fixture.tokens, load, clock }),
    targetExists: (principal, target) => targetExists(fixture, principal, target),
    once: (request, work) => once({ db: fixture.db, clock, log }, request, work),
    explain: (error) => error,
    ...change,
  })
  const server = await startHttpServer(appListener(app, { cookieSecure: true, log }), {
    host: '127.0.0.1',
    port: 0,
  })
  return { port: server.address.port, stop: () => server.stop(1_000) }
}
