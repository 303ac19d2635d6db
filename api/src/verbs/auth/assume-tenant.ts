import { ServiceError, SESSION } from '@service/domain'
import type { Principal } from '@service/domain'
import type { AssumeTenantRequest, Identity } from '@service/wire'
import { writeAudit } from '../../db/audit.ts'
import { pinSession } from '../../db/credentials.ts'
import { asReader, forTenant } from '../../db/scope.ts'
import { guardMssp } from '../guard.ts'
import type { AuthContext } from './context.ts'
import { describeIdentity } from './session.ts'
import type { SessionRecord } from './session.ts'

export type AssumeTenant = {
  readonly principal: Principal
  readonly session: SessionRecord
  readonly requestId: string | null
  readonly target: AssumeTenantRequest
}
type Context = Pick<AuthContext, 'db' | 'clock' | 'authMode'>
type Pin = NonNullable<SessionRecord['pinned']> & { readonly until: Date }

/** Decision 2.6: enters a tenant for 30 minutes, or leaves the one that was entered when none is named. */
export async function assumeTenant(ctx: Context, request: AssumeTenant): Promise<Identity> {
  guardMssp(request.principal, 'tenant.assume')
  const tenant = await findTenant(ctx, request.target)
  const until = new Date(ctx.clock().getTime() + SESSION.pinMs)
  const pinned: Pin | null = tenant === null ? null : { ...tenant, until }
  await pin(ctx, request, pinned)
  return describeIdentity(ctx, { ...request.session, pinned })
}

/** Null when none is named; both names have to be of the same tenant. */
async function findTenant({ db }: Context, target: AssumeTenantRequest): Promise<Omit<Pin, 'until'> | null> {
  const [id, slug] = [target.tenant_id ?? null, target.slug ?? null]
  if (id === null && slug === null) return null
  const [row] = await asReader(
    db,
    ({ sql }) => sql<{ id: string; slug: string; display_name: string }[]>`
      select id, slug, display_name from tenants
       where deleted_at is null and case when ${id}::uuid is null then slug = ${slug} else id = ${id}::uuid end`,
  )
  if (row === undefined) throw new ServiceError('not_found', 'There is no such tenant')
  if (slug !== null && slug !== row.slug)
    throw new ServiceError('validation_failed', undefined, {
      errors: [{ pointer: '/slug', code: 'invalid_value', message: 'must be the slug of the same tenant' }],
    })
  return { tenantId: row.id, slug: row.slug, displayName: row.display_name }
}

/** The row stands with the tenant that is entered or left, whose users can read it. */
async function pin(
  ctx: Context,
  { principal, session, requestId }: AssumeTenant,
  pinned: Pin | null,
): Promise<void> {
  const tenantId = pinned?.tenantId ?? session.pinned?.tenantId
  if (tenantId === undefined) return
  const lives = await forTenant(ctx.db, tenantId, async (tx) => {
    const changed = await pinSession(tx, session.id, pinned, ctx.clock())
    if (!changed) return false
    await writeAudit(tx, {
      principal,
      action: pinned === null ? 'tenant.leave' : 'tenant.assume',
      tenantId,
      resourceType: 'tenant',
      resourceId: tenantId,
      actingAs: tenantId,
      requestId,
    })
    return true
  })
  if (!lives) throw new ServiceError('unauthenticated')
}
