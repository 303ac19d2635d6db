import { createTenant, type CreateTenantContext, onboardTenant } from '../../verbs/tenant/create.ts'
import { getTenant, type GetTenantContext } from '../../verbs/tenant/get.ts'
import { listLifecycle } from '../../verbs/tenant/lifecycle.ts'
import { listTenants } from '../../verbs/tenant/list.ts'
import { retryTenant, type RetryTenantContext } from '../../verbs/tenant/retry.ts'
import type { Handlers } from '../types.ts'

export type TenantDependencies = CreateTenantContext & GetTenantContext & RetryTenantContext

export const tenantHandlers = (ctx: TenantDependencies) =>
  ({
    'mssp.tenants.list': async ({ principal, query }) => ({
      body: await listTenants(ctx, { principal, query }),
    }),
    'mssp.tenants.create': async ({ principal, body, client }) => {
      const { requestId } = client
      return created(await createTenant(ctx, { principal, requestId, tenant: body }))
    },
    'mssp.tenants.onboard': async ({ principal, body, client }) => {
      const { requestId } = client
      return created(await onboardTenant(ctx, { principal, requestId, tenant: body }))
    },
    'mssp.tenants.get': async ({ principal, params }) => ({
      body: await getTenant(ctx, { principal, id: params.id }),
    }),
    'mssp.tenants.retry': async ({ principal, params, client }) => ({
      body: await retryTenant(ctx, { principal, requestId: client.requestId, id: params.id }),
    }),
    'mssp.tenants.lifecycle': async ({ principal, params, query }) => ({
      body: await listLifecycle(ctx, { principal, id: params.id, query }),
    }),
  }) satisfies Partial<Handlers>

const created = <T extends { readonly id: string }>(body: T) => ({
  body,
  headers: { location: `/api/mssp/tenants/${body.id}` },
})
