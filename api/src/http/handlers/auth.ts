import { type Clock, ServiceError } from '@service/domain'
import {
  assumeTenant,
  type AuthContext,
  changePassword,
  describeIdentity,
  login,
  logout,
} from '../../verbs/auth/index.ts'
import { clearedSessionCookie, sessionCookie } from '../cookies.ts'
import type { Client, Handlers } from '../types.ts'

export type AuthDependencies = {
  readonly context: AuthContext
  readonly clock: Clock
  readonly cookieSecure: boolean
}

export const authHandlers = ({ context, clock, cookieSecure }: AuthDependencies) =>
  ({
    'auth.login': async ({ body, client }) => {
      const { ip, userAgent, requestId } = client
      const result = await login(context, { ...body, ip, userAgent, requestId, host: userHost(client) })
      const options = { secure: cookieSecure, now: clock() }
      return {
        body: result.response,
        headers: { 'set-cookie': sessionCookie(result.cookie, result.absoluteExpiry, options) },
      }
    },
    'auth.logout': async ({ client }) => {
      await logout(context, { cookie: client.cookie, requestId: client.requestId })
      return { body: { ok: true as const }, headers: { 'set-cookie': clearedSessionCookie(cookieSecure) } }
    },
    'auth.me': async ({ user }) => ({ body: await describeIdentity(context, user) }),
    'mssp.me': async ({ user }) => ({ body: await describeIdentity(context, user) }),
    'tenant.me': async ({ user }) => ({ body: await describeIdentity(context, user) }),
    'auth.assume-tenant': async ({ principal, user: session, body, client: { requestId } }) => ({
      body: await assumeTenant(context, { principal, session, requestId, target: body }),
    }),
    'auth.password.change': async ({ principal, user: session, body, client }) => {
      const { requestId } = client
      await changePassword(context, { principal, session, ...body, requestId })
      return { body: { ok: true as const } }
    },
  }) satisfies Partial<Handlers>

/** People sign in at a configured host only; the pipeline lets nobody else come here. */
function userHost({ host }: Client): Exclude<Client['host'], { kind: 'other' }> {
  if (host.kind === 'other') throw new ServiceError('not_found')
  return host
}
