import { type Principal, ServiceError } from '@service/domain'
import type { Route } from '@service/wire'
import type { Context, MiddlewareHandler } from 'hono'
import type { SessionRecord } from '../../verbs/auth/session.ts'
import { readSessionCookie } from '../cookies.ts'
import type { KnownHost } from '../hosts.ts'
import type { HttpEnv, Identity } from '../types.ts'

export type AuthenticationDependencies = {
  /** `null` for a session that is unknown, ended, or of another host (decision 2.10). */
  readonly resolveSession: (
    cookie: string,
    host: Exclude<KnownHost, { kind: 'other' }>,
  ) => Promise<{ readonly principal: Principal; readonly session: SessionRecord } | null>
  /** Fails with `invalid_token`. */
  readonly verifyToken: (kind: 'adapter' | 'worker', token: string) => Promise<Principal>
}

/** Who calls: by cookie on the people's routes, by bearer token on the internal ones, never both. */
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
    return { principal: await deps.verifyToken(kind, token), session: null }
  }
  const cookie = readSessionCookie(c.req.header('cookie'))
  const host = c.get('host')
  const identity = cookie === null || host.kind === 'other' ? null : await deps.resolveSession(cookie, host)
  if (identity === null) throw new ServiceError('unauthenticated')
  return identity
}
