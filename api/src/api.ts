import { ServiceError } from '@service/domain'
import type { Ready } from '@service/wire'
import type { Hono } from 'hono'
import type { IdentityProxy as IdentityProxyConfig } from './config/index.ts'
import type { Context } from './context.ts'
import { isUnavailable } from './db/errors.ts'
import { forTenant } from './db/scope.ts'
import { createApp } from './http/app.ts'
import { createHandlers } from './http/handlers/index.ts'
import { customerOrigin } from './http/hosts.ts'
import { trustOf } from './http/identity-headers.ts'
import type { IdentityProxy } from './http/middleware/identity.ts'
import type { HttpEnv } from './http/types.ts'
import { createLoginLimiter, createPasswordHasher } from './identity/index.ts'
import type { ApiMetrics } from './metrics.ts'
import { createTokenVerifier, type TokenState } from './tokens/verifier.ts'
import { createLeaseRenewer } from './verbs/adapter/lease.ts'
import { type AuthContext, enterProxied, resolveProxied, resolveSession } from './verbs/auth/index.ts'
import { once } from './verbs/once.ts'
import { targetExists } from './verbs/target.ts'
import { VERSION } from './version.ts'

export type ApiParts = {
  readonly metrics: ApiMetrics
  readonly ready: () => Promise<Ready>
  /** There is a new mark for the projector. */
  readonly wake: () => void
}

/** Joins verbs, handlers and pipeline; binds no port and starts nothing. */
export function createApi(context: Context, parts: ApiParts): Hono<HttpEnv> {
  const { config, db, clock, log, tokens, hit } = context
  const { authMode, cookieSecure, hosts } = config
  const auth: AuthContext = {
    db,
    clock,
    log,
    authMode,
    hasher: createPasswordHasher(),
    limiter: createLoginLimiter(),
    emailHmacKey: config.keys.emailHmac,
  }
  const renewLease = createLeaseRenewer({ cluster: context.cluster, clock, log })
  const hashPassword = (password: string) => auth.hasher.hash(password)
  const handlers = createHandlers({
    auth: { context: auth, clock, cookieSecure },
    tenants: {
      db,
      clock,
      tokens,
      hit,
      material: context.material,
      provisioning: config.provisioning,
      installNamespace: config.installNamespace,
      authMode,
      hashPassword,
      wake: parts.wake,
      customerUrl: (slug) => customerOrigin(hosts, slug),
      fingerprintKey: config.keys.fingerprint,
    },
    audit: { db },
    users: { db, clock, authMode, hashPassword },
    adapter: {
      db,
      clock,
      hit,
      heartbeatSeconds: config.adapter.heartbeatSeconds,
      pollSeconds: config.adapter.pollSeconds,
      onIngested: parts.metrics.ingested,
      // Never rejects: a failure is logged where it happens.
      renewLease: (tenantId, slug) => void renewLease(tenantId, slug),
    },
    worker: { db },
    version: VERSION,
    live: () => ({ ok: true, auth_mode: authMode, version: VERSION }),
    ready: parts.ready,
  })
  return createApp({
    hosts,
    cookieSecure,
    clock,
    log,
    handlers,
    onRequest: parts.metrics.request,
    resolveSession: (cookie, host) => resolveSession(auth, { cookie, host }),
    identityProxy: authMode === 'proxy' ? identityProxyOf(auth, config.identityProxy) : null,
    verifyToken: createTokenVerifier({ tokens, clock, load: (tenantId) => tokenState(context, tenantId) }),
    targetExists: (principal, target) => targetExists({ db }, principal, target),
    once: (request, work) => once({ db, clock, log }, request, work),
    explain,
  })
}

const identityProxyOf = (auth: AuthContext, { headers, trusted }: IdentityProxyConfig): IdentityProxy => ({
  headers,
  trusts: trustOf(trusted),
  resolve: (request) => resolveProxied(auth, request),
  enter: (request) => enterProxied(auth, request),
})

/** What the tenant's row says of its tokens; nothing when the row is gone or deleted (decision 2.11). */
function tokenState({ db }: Context, tenantId: string): Promise<TokenState> {
  return forTenant(db, tenantId, async (tx) => {
    const [row] = await tx.sql<{ token_version: number }[]>`
      select token_version from tenants where id = ${tenantId} and deleted_at is null`
    return row === undefined ? null : { tokenVersion: row.token_version }
  })
}

/** A database that cannot work right now is an expected failure; a program error is not. */
const explain = (error: unknown): unknown =>
  isUnavailable(error)
    ? new ServiceError('unavailable', 'The database cannot be reached right now', {}, error)
    : error
