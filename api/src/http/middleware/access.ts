import { ServiceError } from '@service/domain'
import type { MiddlewareHandler } from 'hono'
import * as v from 'valibot'
import { guardAudience, guardCapability, guardPin } from '../../verbs/guard.ts'
import type { HttpEnv } from '../types.ts'
import type { IdentityProxy } from './identity.ts'

/** Audience, then the forced password change, then capability, then the pin. */
export const authorize = (): MiddlewareHandler<HttpEnv> => async (c, next) => {
  const { route } = c.get('matched')
  const identity = c.get('identity')
  if (identity !== null) {
    guardAudience(identity.principal, route.access)
    if (identity.user?.mustChange === true && route.whileMustChange !== true)
      throw new ServiceError('password_change_required')
    guardCapability(identity.principal, route.access)
    guardPin(identity.principal, route.access)
  }
  await next()
}

/** In proxy mode: into the tenant that the request names. */
export const enter =
  (proxy: IdentityProxy | null): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const { principal, entry } = c.get('identity') ?? {}
    if (proxy !== null && entry !== undefined && principal?.kind === 'user')
      await proxy.enter({ principal, entry, requestId: c.get('requestId') })
    await next()
  }

/** A malformed id in the path is an id of nothing (decision 1.4). */
export const requireTarget = (): MiddlewareHandler<HttpEnv> => async (c, next) => {
  const { route, params } = c.get('matched')
  if (route.params !== undefined) {
    const result = v.safeParse(route.params, params)
    if (!result.success) throw new ServiceError('not_found')
    c.set('params', result.output)
  }
  await next()
}
