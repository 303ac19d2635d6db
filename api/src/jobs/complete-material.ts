import { SECRETS_REVISION_ANNOTATION } from '@service/crds'
import {
  type Clock,
  materialSecretName,
  NAMESPACE_LABELS,
  namespaceOf,
  type SystemPrincipal,
} from '@service/domain'
import { isKubeError, type KubeClient, type KubeObject, SECRETS } from '@service/kube'
import { and, eq, isNull } from 'drizzle-orm'
import { writeAudit } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../db/ids.ts'
import { tenantLifecycleEvents, tenants, tenantSecrets } from '../db/schema/index.ts'
import { asSystem, type Tx } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { markTenant } from '../projector/queue.ts'
import { MATERIAL_LABEL } from '../secrets/material.ts'
import { secretReferences } from '../secrets/references.ts'
import { completeWazuhMaterial, type Material } from '../secrets/wazuh.ts'
import { type Job, startJob } from './loop.ts'

export type CompleteMaterialOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly installNamespace: string
  /** Tells the projector that there is a mark. */
  readonly wake: () => void
}
type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> }
type Place = { readonly id: string; readonly slug: string }

const COMPLETER: SystemPrincipal = { kind: 'system', reason: 'complete-material' }
const EVERY_MS = 10 * 60_000
/** An install that has just been upgraded need not wait long for what its tenants lack. */
const FIRST_MS = 10_000

/** Gives tenants of older versions what newer charts need, and renews certificates, about every ten minutes. */
export function startCompleteMaterialJob(options: CompleteMaterialOptions): Job {
  const work = () => completeMaterial(options)
  return startJob({ name: COMPLETER.reason, everyMs: EVERY_MS, firstMs: FIRST_MS, work, log: options.log })
}

/**
 * Adds what is missing in the material of live tenants; answers how many were changed. What is there stays as it is. The
 * Secret comes before the row: if the row stays behind, the operator still finds everything at its next look. A tenant
 * that fails is left for the next time and holds up no other.
 */
export async function completeMaterial(options: CompleteMaterialOptions): Promise<number> {
  const { cluster, db, installNamespace: namespace, log } = options
  const { items } = await cluster.list<Secret>(SECRETS, {
    namespace,
    labelSelector: `${NAMESPACE_LABELS.managedBy}=service,${MATERIAL_LABEL}=true`,
  })
  const places = await asSystem(db, COMPLETER.reason, liveTenants, { loop: true })
  let changed = 0
  for (const { id, slug } of places) {
    const secret = items.find(({ metadata }) => metadata.name === materialSecretName(id))
    if (secret === undefined) continue
    try {
      if (!(await completeSecret(options, secret, { id, slug }))) continue
      changed += 1
      log.info({ tenant_id: id }, 'the secret material of a tenant was completed')
    } catch (error) {
      log.warn({ err: error, tenant_id: id }, 'the secret material of a tenant could not be completed')
    }
  }
  if (changed > 0) options.wake()
  return changed
}

const liveTenants = (tx: Tx): Promise<Place[]> =>
  tx.q.select({ id: tenants.id, slug: tenants.slug }).from(tenants).where(isNull(tenants.deletedAt))

async function completeSecret(
  options: CompleteMaterialOptions,
  secret: Secret,
  place: Place,
): Promise<boolean> {
  const { cluster, clock, db } = options
  const present = textsOf(secret)
  const tenant = { id: place.id, namespace: namespaceOf(place.slug) }
  const { material, added } = await completeWazuhMaterial(present, tenant, clock())
  if (added.length === 0) return false
  const { annotations = {} } = secret.metadata
  const revision = Number(annotations[SECRETS_REVISION_ANNOTATION] ?? 0) + 1
  const metadata = {
    ...secret.metadata,
    annotations: { ...annotations, [SECRETS_REVISION_ANNOTATION]: String(revision) },
  }
  try {
    // With the version that was read: of two replicas one writes, and nothing that came in between is lost.
    await cluster.replace<Secret>(SECRETS, { ...secret, metadata, data: dataOf(material) })
  } catch (error) {
    if (isKubeError(error, 'Conflict') || isKubeError(error, 'NotFound')) return false
    throw error
  }
  await asSystem(db, COMPLETER.reason, (tx) => recordRevision(tx, options, place, { revision, added }), {
    loop: true,
  })
  return true
}

async function recordRevision(
  tx: Tx,
  { clock, installNamespace }: CompleteMaterialOptions,
  { id, slug }: Place,
  { revision, added }: { readonly revision: number; readonly added: readonly string[] },
): Promise<void> {
  const [row] = await tx.q
    .select()
    .from(tenants)
    .where(and(eq(tenants.id, id), isNull(tenants.deletedAt)))
    .for('update')
  if (row === undefined || row.secretsRevision >= revision) return
  const now = clock()
  await tx.q
    .update(tenants)
    .set({ secretsRevision: revision, specRevision: row.specRevision + 1, updatedAt: now })
    .where(eq(tenants.id, id))
  const references = secretReferences({ clock, installNamespace }, { id, slug }, now)
  await tx.q.insert(tenantSecrets).values(references).onConflictDoNothing()
  const details = { secrets_revision: revision, keys: [...added].toSorted() }
  await tx.q.insert(tenantLifecycleEvents).values({
    id: newId(clock),
    tenantId: id,
    at: now,
    kind: 'key.rotated',
    fromState: row.state,
    toState: row.state,
    actorId: 'system:complete-material',
    details,
  })
  await writeAudit(tx, {
    principal: COMPLETER,
    action: 'tenant.secrets.completed',
    tenantId: id,
    resourceType: 'tenant',
    resourceId: id,
    requestId: null,
    details,
  })
  await markTenant(tx, id)
}

const textsOf = ({ data = {} }: Secret): Material =>
  Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')]),
  )

const dataOf = (material: Material): Record<string, string> =>
  Object.fromEntries(
    Object.entries(material).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  )
