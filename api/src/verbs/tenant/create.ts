import { type Clock, type HitFailpoint, type Principal, ServiceError } from '@service/domain'
import { TenantCreate, type TenantCreated, type TenantOnboard } from '@service/wire'
import * as v from 'valibot'
import type { Provisioning } from '../../config/index.ts'
import type { Database } from '../../db/database.ts'
import { isUniqueViolation } from '../../db/errors.ts'
import { newId } from '../../db/ids.ts'
import { asReader, forTenant } from '../../db/scope.ts'
import { generateMaterial, type MaterialStore } from '../../secrets/material.ts'
import type { ServiceTokens } from '../../tokens/tokens.ts'
import { guardMssp } from '../guard.ts'
import { createFromOnboard, llmSettings, tenantConfig } from './defaults.ts'
import { prepareFirstAdmin } from './first-admin.ts'
import { insertTenant } from './insert.ts'
import { tenantView } from './rows.ts'

export type CreateTenantContext = {
  readonly db: Database
  readonly clock: Clock
  readonly tokens: ServiceTokens
  readonly material: MaterialStore
  readonly provisioning: Provisioning
  readonly installNamespace: string
  readonly authMode: 'internal' | 'proxy'
  readonly hashPassword: (password: string) => Promise<string>
  /** Tells the projector that there is a mark. */
  readonly wake: () => void
  readonly hit: HitFailpoint
}
type Caller = { readonly principal: Principal; readonly requestId: string }

const FIRST_REVISION = 1

/**
 * Makes a tenant: its secrets in the cluster first, then all its rows in one transaction (decision 8.8). Without a
 * cluster nothing is stored (503). What a failed attempt leaves in the cluster is labelled and collected later.
 */
export async function createTenant(
  ctx: CreateTenantContext,
  caller: Caller & { readonly tenant: TenantCreate },
): Promise<TenantCreated> {
  const { principal, tenant: input } = caller
  guardMssp(principal, 'tenant.write')
  refuseReservedSlug(ctx.provisioning.reservedSlugs, input.slug)
  await refuseTaken(ctx.db, input)
  const id = newId(ctx.clock)
  const llm = llmSettings(input, ctx.provisioning.llm)
  const config = tenantConfig(input, llm.baseUrl)
  const admin = input.contact_email === undefined ? null : await prepareFirstAdmin(ctx, input.contact_email)
  const subject = { tenantId: id, tokenVersion: FIRST_REVISION }
  const material = await generateMaterial(ctx.tokens, subject, {
    slug: input.slug,
    llmApiKey: llm.apiKey ?? '',
    now: ctx.clock(),
  })
  await ctx.material.create(id, FIRST_REVISION, material)
  ctx.hit('api.create.material_written')

  const { requestId } = caller
  const values = { id, input, config, llm, admin, principal, requestId }
  const row = await forTenant(ctx.db, id, (tx) => insertTenant(tx, ctx, values)).catch(
    async (error: unknown) => {
      const taken = takenError(error)
      // Only a duplicate tells for certain that there is no row; any other failure may have come after the commit.
      if (taken !== null) await ctx.material.discard(id)
      throw taken ?? error
    },
  )
  ctx.hit('api.create.committed')
  ctx.wake()
  return {
    ...tenantView(row, null, ctx.clock()),
    contact:
      admin === null
        ? null
        : { user_id: admin.userId, email: admin.email, temporary_password: admin.first?.password ?? null },
  }
}

/** The short form of `createTenant` (decision 3.3). */
export function onboardTenant(
  ctx: CreateTenantContext,
  caller: Caller & { readonly tenant: TenantOnboard },
): Promise<TenantCreated> {
  const tenant = v.parse(TenantCreate, createFromOnboard(caller.tenant))
  return createTenant(ctx, { ...caller, tenant })
}

function refuseReservedSlug(reserved: ReadonlySet<string>, slug: string): void {
  if (!reserved.has(slug)) return
  const errors = [{ pointer: '/slug', code: 'reserved', message: 'is reserved for the service itself' }]
  throw new ServiceError('validation_failed', undefined, { errors })
}

/** A look before anything is made; the unique indexes decide when two creations race. */
async function refuseTaken(db: Database, input: TenantCreate): Promise<void> {
  const email = input.contact_email?.toLowerCase() ?? null
  // One statement, so that both answers are of one moment.
  const [taken] = await asReader(
    db,
    ({ sql }) => sql<{ slug: boolean; email: boolean }[]>`
      select exists (select from tenants where slug = ${input.slug} and deleted_at is null) as slug,
             exists (select from users where lower(email) = ${email}) as email`,
  )
  if (taken?.slug === true) throw new ServiceError('slug_taken')
  if (taken?.email === true) throw new ServiceError('email_taken')
}

function takenError(error: unknown): ServiceError | null {
  if (isUniqueViolation(error, 'tenants_slug_live')) return new ServiceError('slug_taken')
  if (isUniqueViolation(error, 'users_email')) return new ServiceError('email_taken')
  return null
}
