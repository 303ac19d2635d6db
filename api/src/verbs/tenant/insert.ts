import { type Clock, type MsspPrincipal, namespaceOf, RELEASE_NAME } from '@service/domain'
import type { TenantConfigView, TenantCreate } from '@service/wire'
import type { Provisioning } from '../../config/index.ts'
import { writeAudit } from '../../db/audit.ts'
import { newId } from '../../db/ids.ts'
import {
  brandingConfigs,
  integrationConfigs,
  tenantInstallations,
  tenantLifecycleEvents,
  tenants,
  tenantSecrets,
  tenantStatuses,
} from '../../db/schema/index.ts'
import type { Tx } from '../../db/scope.ts'
import { markTenant } from '../../projector/queue.ts'
import { secretReferences } from '../../secrets/references.ts'
import type { LlmSettings } from './defaults.ts'
import { type FirstAdmin, insertFirstAdmin } from './first-admin.ts'
import type { TenantRow } from './rows.ts'

export type NewTenant = {
  readonly id: string
  readonly input: TenantCreate
  readonly config: TenantConfigView
  readonly llm: LlmSettings
  readonly admin: FirstAdmin | null
  readonly principal: MsspPrincipal
  readonly requestId: string
}
export type InsertContext = {
  readonly clock: Clock
  readonly provisioning: Provisioning
  readonly installNamespace: string
}

/** Everything that a new tenant is in the database, in one transaction (S "MSSP routes" behaviour 1). */
export async function insertTenant(tx: Tx, ctx: InsertContext, tenant: NewTenant): Promise<TenantRow> {
  const now = ctx.clock()
  const { id, input } = tenant
  const [row] = await tx.q
    .insert(tenants)
    .values({
      id,
      slug: input.slug,
      displayName: input.display_name,
      profile: input.profile,
      placement: input.placement,
      state: 'pending',
      stateChangedAt: now,
      config: tenant.config,
      createdAt: now,
      updatedAt: now,
    })
    .returning()
  if (row === undefined) throw new Error('the database answered no row for a new tenant')
  await insertParts(tx, ctx, tenant, now)
  await insertRecords(tx, ctx, tenant, now)
  if (tenant.admin !== null)
    await insertFirstAdmin(tx, tenant.admin, {
      tenantId: id,
      principal: tenant.principal,
      requestId: tenant.requestId,
      now,
    })
  await markTenant(tx, id)
  return row
}

async function insertParts(tx: Tx, ctx: InsertContext, tenant: NewTenant, now: Date): Promise<void> {
  const { id, input, llm } = tenant
  const { chart } = ctx.provisioning
  await tx.q.insert(integrationConfigs).values({
    tenantId: id,
    llmProvider: llm.provider,
    llmBaseUrl: llm.baseUrl,
    llmModel: llm.model,
    llmApiKeyPlain: llm.apiKey,
    externalCortexUrl: tenant.config.integrations.external_cortex_url,
    updatedAt: now,
  })
  await tx.q.insert(brandingConfigs).values({
    tenantId: id,
    appName: input.branding.app_name ?? null,
    faviconUrl: input.branding.favicon_url ?? null,
    logoUrl: input.branding.logo_url ?? null,
    primaryColor: input.branding.primary_color ?? null,
    secondaryColor: input.branding.secondary_color ?? null,
    updatedAt: now,
  })
  await tx.q.insert(tenantStatuses).values({ tenantId: id, conditions: [], steps: [], updatedAt: now })
  await tx.q.insert(tenantInstallations).values({
    id: newId(ctx.clock),
    tenantId: id,
    releaseName: RELEASE_NAME,
    namespace: namespaceOf(input.slug),
    chartRef: chart.ref,
    desiredChartVersion: chart.version,
    updatedAt: now,
  })
  await tx.q.insert(tenantSecrets).values(secretReferences(ctx, { id, slug: input.slug }, now))
}

/** Lifecycle and audit row; the snapshot holds no secret. */
async function insertRecords(tx: Tx, ctx: InsertContext, tenant: NewTenant, now: Date): Promise<void> {
  const { id, input, principal, requestId, llm } = tenant
  await tx.q.insert(tenantLifecycleEvents).values({
    id: newId(ctx.clock),
    tenantId: id,
    at: now,
    kind: 'tenant.created',
    fromState: null,
    toState: 'pending',
    actorId: principal.userId,
    details: { slug: input.slug, profile: input.profile, placement: input.placement },
  })
  await writeAudit(tx, {
    principal,
    action: 'tenant.create',
    tenantId: id,
    resourceType: 'tenant',
    resourceId: id,
    after: {
      slug: input.slug,
      display_name: input.display_name,
      profile: input.profile,
      placement: input.placement,
      state: 'pending',
      branding: input.branding,
      llm: {
        provider: llm.provider,
        base_url: llm.baseUrl,
        model: llm.model,
        has_api_key: llm.apiKey !== null,
      },
      config: tenant.config,
    },
    actingAs: id,
    requestId,
  })
}
