import { type Clock, type SystemPrincipal, TENANT_SECRETS } from '@service/domain'
import { and, eq } from 'drizzle-orm'
import { writeAudit } from '../db/audit.ts'
import { newId } from '../db/ids.ts'
import {
  brandingConfigs,
  integrationConfigs,
  tenantInstallations,
  tenantLifecycleEvents,
  tenants,
  tenantSecrets,
  tenantStatuses,
} from '../db/schema/index.ts'
import type { Tx } from '../db/scope.ts'
import type { DesiredRows } from './desired.ts'
import type { Changes, Known, LifecycleDraft, Observed } from './project.ts'

/** Who the projector is in audit rows and in `system.enter`. */
export const PROJECTOR: SystemPrincipal = { kind: 'system', reason: 'projector' }
const OPERATOR_ACTOR = 'system:operator'

export type TenantIdentity = { readonly id: string; readonly slug: string }

/** What the Tenant resource is made of; `null` without a live row. */
export async function readDesired(tx: Tx, tenantId: string): Promise<DesiredRows | null> {
  const [rows] = await tx.q
    .select({
      tenant: tenants,
      integration: integrationConfigs,
      branding: brandingConfigs,
      llmKeyVersion: tenantSecrets.versionLabel,
    })
    .from(tenants)
    .innerJoin(integrationConfigs, eq(integrationConfigs.tenantId, tenants.id))
    .innerJoin(brandingConfigs, eq(brandingConfigs.tenantId, tenants.id))
    .innerJoin(
      tenantSecrets,
      and(eq(tenantSecrets.tenantId, tenants.id), eq(tenantSecrets.name, TENANT_SECRETS.llmKey.name)),
    )
    .where(eq(tenants.id, tenantId))
  return rows === undefined || rows.tenant.deletedAt !== null ? null : rows
}

/** What `projectStatus` compares with; `null` when the resource has no row that carries its name and its id. */
export async function readKnown(
  tx: Tx,
  tenant: TenantIdentity,
  observed: Observed,
  options: { readonly lock: boolean },
): Promise<Known | null> {
  const query = tx.q.select().from(tenants).where(eq(tenants.id, tenant.id))
  const [row] = await (options.lock ? query.for('update') : query)
  if (row === undefined || row.slug !== tenant.slug) return null
  const [status] = await tx.q.select().from(tenantStatuses).where(eq(tenantStatuses.tenantId, tenant.id))
  const [installation] = await tx.q
    .select()
    .from(tenantInstallations)
    .where(eq(tenantInstallations.tenantId, tenant.id))
  const stored = await tx.sql<{ seq: number }[]>`
    select journal_seq as seq from tenant_lifecycle_events
    where tenant_id = ${tenant.id} and cr_uid = ${observed.uid}`
  return {
    tenant: row,
    status: status === undefined ? null : picked(status, STATUS_FIELDS),
    installation: installation === undefined ? null : picked(installation, INSTALLATION_FIELDS),
    storedSeqs: new Set(stored.map(({ seq }) => seq)),
  }
}

const STATUS_FIELDS = ['crUid', 'observedRevision', 'conditions', 'steps'] as const
const INSTALLATION_FIELDS = [
  'chartVersion',
  'revision',
  'status',
  'valuesDigest',
  'manifestDigest',
  'installedAt',
  'lastError',
] as const

function picked<T extends object, K extends keyof T>(row: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, row[key]])) as Pick<T, K>
}

/** Writes all changes of one projection; belongs into one transaction. */
export async function writeChanges(
  tx: Tx,
  tenantId: string,
  observed: Observed,
  changes: Changes,
  clock: Clock,
): Promise<void> {
  const now = clock()
  for (const draft of changes.lifecycle) await insertLifecycle(tx, tenantId, observed.uid, draft, clock)
  if (changes.tenant !== null)
    await tx.q
      .update(tenants)
      .set({ ...changes.tenant, updatedAt: now })
      .where(eq(tenants.id, tenantId))
  for (const move of changes.moves)
    await writeAudit(tx, {
      principal: PROJECTOR,
      action: 'tenant.state_changed',
      tenantId,
      resourceType: 'tenant',
      resourceId: tenantId,
      before: { state: move.from },
      after: { state: move.to },
      requestId: null,
    })
  if (changes.status !== null) {
    const values = { ...changes.status, updatedAt: now }
    await tx.q
      .insert(tenantStatuses)
      .values({ tenantId, ...values })
      .onConflictDoUpdate({ target: tenantStatuses.tenantId, set: values })
  }
  if (changes.installation !== null)
    await tx.q
      .update(tenantInstallations)
      .set({ ...changes.installation, updatedAt: now })
      .where(eq(tenantInstallations.tenantId, tenantId))
}

/** Unique by (tenant, CR uid, seq): an entry that another replica has just written is left alone. */
async function insertLifecycle(
  tx: Tx,
  tenantId: string,
  uid: string,
  draft: LifecycleDraft,
  clock: Clock,
): Promise<void> {
  const fromJournal = draft.seq !== null
  await tx.q
    .insert(tenantLifecycleEvents)
    .values({
      id: newId(clock),
      tenantId,
      at: draft.at,
      kind: draft.kind,
      fromState: draft.from,
      toState: draft.to,
      actorId: fromJournal ? OPERATOR_ACTOR : `system:${PROJECTOR.reason}`,
      details: draft.details,
      crUid: fromJournal ? uid : null,
      journalSeq: draft.seq,
    })
    .onConflictDoNothing()
}
