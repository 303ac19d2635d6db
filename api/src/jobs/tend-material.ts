import { type Clock, materialSecretName, NAMESPACE_LABELS } from '@service/domain'
import { isKubeError, type KubeClient, SECRETS } from '@service/kube'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { writeAudit } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../db/ids.ts'
import { tenantLifecycleEvents, tenants, tenantSecrets } from '../db/schema/index.ts'
import { asSystem, type Tx } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { markTenant } from '../projector/queue.ts'
import {
  type Change,
  changeOf,
  CHANGES,
  type MaterialSecret,
  patchOf,
  revisionOf,
  textsOf,
} from '../secrets/change.ts'
import { MATERIAL_LABEL } from '../secrets/material.ts'
import { secretReferences } from '../secrets/references.ts'
import type { Material } from '../secrets/wazuh.ts'

export type TendOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly installNamespace: string
  /** Tells the projector that there is a mark. */
  readonly wake: () => void
}
export type Tended = Pick<typeof tenants.$inferSelect, 'id' | 'slug' | 'tokenVersion' | 'secretsRevision'>

/** Answers the texts that the material has to have from now on; none when it may stay as it is. */
export type Renewal = (tenant: Tended, present: Material) => Promise<Material>

/**
 * Brings the material of every live tenant to what `renewal` wants, in whatever state the tenant is; answers of how many
 * changes it told. The Secret comes before the row and says itself what has changed: who died in between is followed by
 * one who tells of it. A tenant that fails is left for the next time and holds up no other.
 */
export async function tendMaterial(
  options: TendOptions,
  kind: keyof typeof CHANGES,
  renewal: Renewal,
): Promise<number> {
  const { cluster, db, installNamespace: namespace, log } = options
  const labelSelector = `${NAMESPACE_LABELS.managedBy}=service,${MATERIAL_LABEL}=true`
  const { items } = await cluster.list<MaterialSecret>(SECRETS, { namespace, labelSelector })
  const secrets = new Map(items.map((secret) => [secret.metadata.name, secret]))
  const live = await asSystem(db, CHANGES[kind].reason, liveTenants, { loop: true })
  let told = 0
  for (const tenant of live) {
    const secret = secrets.get(materialSecretName(tenant.id))
    if (secret === undefined) continue
    try {
      if (revisionOf(secret) > tenant.secretsRevision && (await tell(options, tenant, changeOf(secret))))
        told += 1
      const change = await renew(options, kind, renewal, tenant, secret)
      if (change !== null && (await tell(options, tenant, change))) told += 1
    } catch (error) {
      log.warn({ err: error, tenant_id: tenant.id, change: kind }, 'the material of a tenant was not renewed')
    }
  }
  if (told > 0) options.wake()
  return told
}

const liveTenants = (tx: Tx): Promise<Tended[]> =>
  tx.q
    .select({
      id: tenants.id,
      slug: tenants.slug,
      tokenVersion: tenants.tokenVersion,
      secretsRevision: tenants.secretsRevision,
    })
    .from(tenants)
    .where(isNull(tenants.deletedAt))

/** With the version that was read: of two replicas one writes, and nothing that came in between is lost. */
async function renew(
  { cluster, installNamespace: namespace }: TendOptions,
  kind: keyof typeof CHANGES,
  renewal: Renewal,
  tenant: Tended,
  secret: MaterialSecret,
): Promise<Change | null> {
  const texts = await renewal(tenant, textsOf(secret))
  const keys = Object.keys(texts).toSorted()
  if (keys.length === 0) return null
  const change: Change = { revision: revisionOf(secret) + 1, kind, keys }
  try {
    await cluster.patch(SECRETS, { name: secret.metadata.name, namespace }, patchOf(secret, change, texts))
  } catch (error) {
    if (isKubeError(error, 'Conflict') || isKubeError(error, 'NotFound')) return null
    throw error
  }
  return change
}

async function tell(options: TendOptions, tenant: Tended, change: Change): Promise<boolean> {
  const { reason } = CHANGES[change.kind]
  const told = await asSystem(options.db, reason, (tx) => record(tx, options, tenant, change), { loop: true })
  const line = { tenant_id: tenant.id, secrets_revision: change.revision, change: change.kind }
  if (told) options.log.info(line, 'the secret material of a tenant has changed')
  return told
}

/** Once for each revision: row, references, lifecycle and audit row, and the mark that carries it to the cluster. */
async function record(tx: Tx, options: TendOptions, { id, slug }: Tended, change: Change): Promise<boolean> {
  const { clock } = options
  const { revision, keys } = change
  const [row] = await tx.q
    .select()
    .from(tenants)
    .where(and(eq(tenants.id, id), isNull(tenants.deletedAt)))
    .for('update')
  if (row === undefined || row.secretsRevision >= revision) return false
  const now = clock()
  await tx.q
    .update(tenants)
    .set({ secretsRevision: revision, specRevision: row.specRevision + 1, updatedAt: now })
    .where(eq(tenants.id, id))
  await tx.q
    .insert(tenantSecrets)
    .values(secretReferences(options, { id, slug }, now))
    .onConflictDoNothing()
  await tx.q
    .update(tenantSecrets)
    .set({ versionLabel: String(revision), updatedAt: now })
    .where(and(eq(tenantSecrets.tenantId, id), inArray(tenantSecrets.name, changedSecrets(id, keys))))
  const { kind, action, reason } = CHANGES[change.kind]
  const details = { secrets_revision: revision, keys }
  await tx.q.insert(tenantLifecycleEvents).values({
    id: newId(clock),
    tenantId: id,
    at: now,
    kind,
    fromState: row.state,
    toState: row.state,
    actorId: `system:${reason}`,
    details,
  })
  await writeAudit(tx, {
    principal: { kind: 'system', reason },
    action,
    tenantId: id,
    resourceType: 'tenant',
    resourceId: id,
    requestId: null,
    details,
  })
  await markTenant(tx, id)
  return true
}

/** A key of the material is named `<secret>.<key>`. */
const changedSecrets = (id: string, keys: readonly string[]): string[] => [
  materialSecretName(id),
  ...new Set(keys.map((key) => key.slice(0, key.indexOf('.')))),
]
