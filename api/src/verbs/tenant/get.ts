import { type Principal, ServiceError } from '@service/domain'
import type { TenantDetail } from '@service/wire'
import { eq } from 'drizzle-orm'
import {
  brandingConfigs,
  integrationConfigs,
  tenantHeartbeats,
  tenantInstallations,
  tenants,
  tenantStatuses,
} from '../../db/schema/index.ts'
import { asReader } from '../../db/scope.ts'
import { guardMssp, hasCapability } from '../guard.ts'
import type { ReadContext } from './list.ts'
import { tenantDetail } from './rows.ts'

export type GetTenantContext = ReadContext & {
  readonly customerUrl: (slug: string) => string
  readonly fingerprintKey: Uint8Array
}

/** One tenant, also a deleted one until its hard delete (decision 3.8). */
export async function getTenant(
  ctx: GetTenantContext,
  input: { readonly principal: Principal; readonly id: string },
): Promise<TenantDetail> {
  const { principal, id } = input
  guardMssp(principal, 'tenant.read')
  const rows = await asReader(ctx.db, async ({ q }) => {
    const [found] = await q
      .select({
        tenant: tenants,
        heartbeat: tenantHeartbeats,
        status: tenantStatuses,
        installation: tenantInstallations,
        integration: integrationConfigs,
        branding: brandingConfigs,
      })
      .from(tenants)
      .leftJoin(tenantHeartbeats, eq(tenantHeartbeats.tenantId, tenants.id))
      .leftJoin(tenantStatuses, eq(tenantStatuses.tenantId, tenants.id))
      .leftJoin(tenantInstallations, eq(tenantInstallations.tenantId, tenants.id))
      .leftJoin(integrationConfigs, eq(integrationConfigs.tenantId, tenants.id))
      .leftJoin(brandingConfigs, eq(brandingConfigs.tenantId, tenants.id))
      .where(eq(tenants.id, id))
    return found
  })
  if (rows === undefined) throw new ServiceError('not_found')
  return tenantDetail(rows, {
    now: ctx.clock(),
    customerUrl: ctx.customerUrl(rows.tenant.slug),
    fingerprintKey: ctx.fingerprintKey,
    mayReadLlm: hasCapability(principal, 'llm.read'),
  })
}
