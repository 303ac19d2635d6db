import {
  type Clock,
  llmCopySecretName,
  materialSecretName,
  namespaceOf,
  TENANT_SECRETS,
} from '@service/domain'
import { newId } from '../db/ids.ts'

/** Rows of `tenant_secrets`: where the material lies, never the material (S "Secret placement" 4). */
export function secretReferences(
  ctx: { readonly clock: Clock; readonly installNamespace: string },
  tenant: { readonly id: string; readonly slug: string },
  now: Date,
) {
  const own = Object.values(TENANT_SECRETS).map(({ name }) => ({ namespace: namespaceOf(tenant.slug), name }))
  const install = [materialSecretName(tenant.id), llmCopySecretName(tenant.id)].map((name) => ({
    namespace: ctx.installNamespace,
    name,
  }))
  return [...install, ...own].map((place) => ({
    ...place,
    id: newId(ctx.clock),
    tenantId: tenant.id,
    versionLabel: '1',
    createdAt: now,
    updatedAt: now,
  }))
}
