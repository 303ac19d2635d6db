import { deactivateUser, reactivateUser, updateUser } from '../../verbs/user/change.ts'
import type { UserContext } from '../../verbs/user/context.ts'
import { createUser } from '../../verbs/user/create.ts'
import { getUser, listUsers } from '../../verbs/user/read.ts'
import { resetPassword } from '../../verbs/user/reset-password.ts'
import type { Handlers } from '../types.ts'

type Side = 'mssp' | 'tenant'

/** The verbs tell the sides apart by the principal, so that both have the same handlers. */
export const userHandlers = (ctx: UserContext) =>
  ({
    'mssp.users.list': async ({ principal, query }) => ({ body: await listUsers(ctx, { principal, query }) }),
    'tenant.users.list': async ({ principal, query }) => ({
      body: await listUsers(ctx, { principal, query }),
    }),
    'mssp.users.create': async ({ principal, body, client: { requestId } }) =>
      created('mssp', await createUser(ctx, { principal, requestId, user: body })),
    'tenant.users.create': async ({ principal, body, client: { requestId } }) =>
      created('tenant', await createUser(ctx, { principal, requestId, user: body })),
    'mssp.users.get': async ({ principal, params }) => ({
      body: await getUser(ctx, { principal, ...params }),
    }),
    'tenant.users.get': async ({ principal, params }) => ({
      body: await getUser(ctx, { principal, ...params }),
    }),
    'mssp.users.update': async ({ principal, params, body, client: { requestId } }) => ({
      body: await updateUser(ctx, { principal, requestId, ...params, change: body }),
    }),
    'tenant.users.update': async ({ principal, params, body, client: { requestId } }) => ({
      body: await updateUser(ctx, { principal, requestId, ...params, change: body }),
    }),
    'mssp.users.deactivate': async ({ principal, params, client: { requestId } }) => ({
      body: await deactivateUser(ctx, { principal, requestId, ...params }),
    }),
    'tenant.users.deactivate': async ({ principal, params, client: { requestId } }) => ({
      body: await deactivateUser(ctx, { principal, requestId, ...params }),
    }),
    'mssp.users.reactivate': async ({ principal, params, client: { requestId } }) => ({
      body: await reactivateUser(ctx, { principal, requestId, ...params }),
    }),
    'tenant.users.reactivate': async ({ principal, params, client: { requestId } }) => ({
      body: await reactivateUser(ctx, { principal, requestId, ...params }),
    }),
    'mssp.users.password.reset': async ({ principal, params, client: { requestId } }) => ({
      body: await resetPassword(ctx, { principal, requestId, ...params }),
    }),
    'tenant.users.password.reset': async ({ principal, params, client: { requestId } }) => ({
      body: await resetPassword(ctx, { principal, requestId, ...params }),
    }),
  }) satisfies Partial<Handlers>

const created = <T extends { readonly id: string }>(side: Side, body: T) => ({
  body,
  headers: { location: `/api/${side}/users/${body.id}` },
})
