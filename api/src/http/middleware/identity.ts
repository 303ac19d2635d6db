import { type Principal, ServiceError } from '@service/domain'
import type { Route } from '@service/wire'
import type { Context, MiddlewareHandler } from 'hono'
import type { Proxied } from '../../verbs/auth/proxied.ts'
import type { SignedIn } from '../../verbs/auth/session.ts'
import { readSessionCookie } from '../cookies.ts'
import type { KnownHost } from '../hosts.ts'
import { type HeaderNames, readIdentityHeaders, TENANT_HEADER } from '../identity-headers.ts'
import type { HttpEnv, Identity } from '../types.ts'

type UserHost = Exclude<KnownHost, { kind: 'other' }>

/** Who is believed in proxy mode (decision 2.7). */
export type IdentityProxy = {
  readonly headers: HeaderNames
  readonly trusts: (peer: string | undefined) => boolean
  /** Fails for nobody who may sign in at this host. */
  readonly resolve: (request: {
    readonly email: string
    readonly host: UserHost
    readonly tenant: string | null
  }) => Promise<Proxied>
  readonly enter: (
    request: Pick<Proxied, 'principal' | 'entry'> & { readonly requestId: string },
  ) => Promise<void>
}
export type AuthenticationDependencies = {
  /** `null` for a session that is unknown, ended, or of another host (decision 2.10). */
  readonly resolveSession: (cookie: string, host: UserHost) => Promise<SignedIn | null>
  /** Null in internal mode, where identity headers say nothing; otherwise cookies say nothing. */
  readonly identityProxy: IdentityProxy | null
  /** Fails with `invalid_token`. */
  readonly verifyToken: (kind: 'adapter' | 'worker', token: string) => Promise<Principal>
}

/** Who calls: people by cookie, or by the headers of their proxy; workloads by bearer token. */
export const identify =
  (deps: AuthenticationDependencies): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    c.set('identity', await identityFor(deps, c, c.get('matched').route))
    await next()
  }

async function identityFor(
  deps: AuthenticationDependencies,
  c: Context<HttpEnv>,
  route: Route,
): Promise<Identity> {
  const { kind } = route.access
  if (kind === 'public') return null
  if (kind === 'adapter' || kind === 'worker') {
    const token = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (token === undefined) throw new ServiceError('invalid_token')
    return { principal: await deps.verifyToken(kind, token), user: null }
  }
  const identity =
    deps.identityProxy === null ? await bySession(deps, c) : await byProxy(deps.identityProxy, c)
  if (identity === null) throw new ServiceError('unauthenticated')
  return identity
}

async function bySession(deps: AuthenticationDependencies, c: Context<HttpEnv>): Promise<Identity> {
  const cookie = readSessionCookie(c.req.header('cookie'))
  const host = c.get('host')
  const signedIn = cookie === null || host.kind === 'other' ? null : await deps.resolveSession(cookie, host)
  return signedIn === null ? null : { principal: signedIn.principal, user: signedIn.session }
}

/** The address that counts is the connection's: what a header tells of it anybody could have written. */
async function byProxy(proxy: IdentityProxy, c: Context<HttpEnv>): Promise<Identity> {
  const incoming = c.env?.incoming
  const sent = incoming?.headersDistinct ?? {}
  const from = { peer: incoming?.socket.remoteAddress, trusts: proxy.trusts }
  const email = readIdentityHeaders(sent, proxy.headers, from)
  const host = c.get('host')
  if (email === null || host.kind === 'other') return null
  const tenant = sent[TENANT_HEADER]?.join(',') ?? ''
  return proxy.resolve({ email, host, tenant: tenant === '' ? null : tenant })
}
