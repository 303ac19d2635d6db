import { TENANTS } from '@service/crds'
import {
  type Clock,
  llmCopySecretName,
  materialSecretName,
  NAMESPACE_LABELS,
  type SystemPrincipal,
} from '@service/domain'
import { isKubeError, type KubeClient, type KubeObject, NAMESPACES, SECRETS } from '@service/kube'
import type { Database } from '../db/database.ts'
import { asSystem } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { MATERIAL_LABEL } from '../secrets/material.ts'
import { type Job, startJob } from './loop.ts'

export type OrphanSecretsOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly installId: string
  readonly installNamespace: string
}

const COLLECTOR: SystemPrincipal = { kind: 'system', reason: 'orphan-secrets' }
const EVERY_MS = 10 * 60_000
/** Far more than a creation takes between its Secrets and its row (decision 8.8). */
const MIN_AGE_MS = 60 * 60_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Collects what failed creations leave in the install's namespace, about every ten minutes. */
export function startOrphanSecretsJob(options: OrphanSecretsOptions, everyMs = EVERY_MS): Job {
  const work = () => collectOrphanSecrets(options)
  return startJob({ name: COLLECTOR.reason, everyMs, work, log: options.log })
}

/**
 * Deletes material whose tenant has no row and never got anything in the cluster; answers how many Secrets. A row that
 * is not seen proves nothing by itself: the database has to show that it is this install's and hides no row, and the
 * cluster must know nothing of the tenant. Whatever cannot be read ends the run before the first deletion.
 */
export async function collectOrphanSecrets(options: OrphanSecretsOptions): Promise<number> {
  const { cluster, log } = options
  const candidates = await oldMaterial(options)
  if (candidates.length === 0) return 0
  const ids = [...new Set(candidates.map(tenantOf))]
  const rows = await idsWithRow(options, ids)
  const alive = await idsInCluster(cluster)
  const orphans = candidates.filter((secret) => !rows.has(tenantOf(secret)) && !alive.has(tenantOf(secret)))
  let deleted = 0
  for (const { metadata } of orphans) {
    const { name, uid } = metadata
    if (uid === undefined) continue
    const key = { name, namespace: options.installNamespace }
    // Another Secret of this name by now is not the one that was judged.
    const gone = await cluster.delete(SECRETS, key, { uid }).catch((error: unknown) => {
      if (isKubeError(error, 'Conflict')) return false
      throw error
    })
    if (gone) deleted += 1
  }
  const tenantIds = [...new Set(orphans.map(tenantOf))]
  if (deleted > 0)
    log.info({ deleted, tenant_ids: tenantIds }, 'secrets of creations that failed are deleted')
  return deleted
}

const tenantOf = ({ metadata }: KubeObject): string => metadata.labels?.[NAMESPACE_LABELS.tenantId] ?? ''

/** Ours by labels, named after the very tenant that the label names, and old enough. */
async function oldMaterial(options: OrphanSecretsOptions): Promise<KubeObject[]> {
  const { items } = await options.cluster.list<KubeObject>(SECRETS, {
    namespace: options.installNamespace,
    labelSelector: `${NAMESPACE_LABELS.managedBy}=service,${MATERIAL_LABEL}=true`,
  })
  const now = options.clock().getTime()
  return items.filter((secret) => {
    const id = tenantOf(secret)
    const made = Date.parse(secret.metadata.creationTimestamp ?? '')
    const named = [materialSecretName(id), llmCopySecretName(id)].includes(secret.metadata.name)
    return UUID.test(id) && named && now - made > MIN_AGE_MS
  })
}

/** Deleted tenants count until their hard delete. Fails unless the answer can be believed. */
async function idsWithRow({ db, installId }: OrphanSecretsOptions, ids: readonly string[]) {
  type Seen = { own: boolean; bypass: boolean; ids: string[] }
  const seen = await asSystem(
    db,
    COLLECTOR.reason,
    async (tx) => {
      // One statement, so that proof and answer are of one moment and one role.
      const [row] = await tx.sql<Seen[]>`
        select exists (select from organization where install_id = ${installId}) as own,
               (select rolbypassrls or rolsuper from pg_catalog.pg_roles where rolname = current_user) as bypass,
               coalesce((select json_agg(id) from tenants
                         where id::text in (select json_array_elements_text(${JSON.stringify(ids)}::text::json))),
                        '[]'::json) as ids`
      return row
    },
    { loop: true },
  )
  if (seen?.bypass !== true) throw new Error('the database role does not see all tenants')
  if (!seen.own) throw new Error('the database does not know this install')
  return new Set(seen.ids)
}

/** Tenants that a resource or a namespace still names: a database that lost its rows must not cost them their secrets. */
async function idsInCluster(cluster: KubeClient): Promise<ReadonlySet<string>> {
  const labelSelector = NAMESPACE_LABELS.tenantId
  const [tenants, namespaces] = await Promise.all([
    cluster.list<KubeObject & { readonly spec?: { readonly tenantId?: string } }>(TENANTS),
    cluster.list<KubeObject>(NAMESPACES, { labelSelector }),
  ])
  return new Set([
    ...tenants.items.map(({ spec }) => spec?.tenantId ?? ''),
    ...tenants.items.map(tenantOf),
    ...namespaces.items.map(tenantOf),
  ])
}
