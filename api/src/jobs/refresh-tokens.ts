import { createHash } from 'node:crypto'
import { SECRETS_REVISION_ANNOTATION } from '@service/crds'
import {
  type Clock,
  materialKey,
  materialSecretName,
  NAMESPACE_LABELS,
  SERVICE_TOKEN,
  ServiceError,
  type SystemPrincipal,
  TENANT_SECRETS,
} from '@service/domain'
import { isKubeError, type KubeClient, type KubeObject, SECRETS } from '@service/kube'
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { decodeJwt } from 'jose'
import { writeAudit } from '../db/audit.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../db/ids.ts'
import { tenantLifecycleEvents, tenants, tenantSecrets } from '../db/schema/index.ts'
import { asSystem, type Tx } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { markTenant } from '../projector/queue.ts'
import { MATERIAL_LABEL } from '../secrets/material.ts'
import type { ServiceTokens, TokenKind } from '../tokens/tokens.ts'
import { type Job, startJob } from './loop.ts'

export type RefreshTokensOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly tokens: ServiceTokens
  readonly clock: Clock
  readonly log: Log
  readonly installNamespace: string
  /** Tells the projector that there is a mark. */
  readonly wake: () => void
}
type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> }
type Row = Pick<typeof tenants.$inferSelect, 'id' | 'tokenVersion' | 'secretsRevision'>

const REFRESHER: SystemPrincipal = { kind: 'system', reason: 'token-refresh' }
const EVERY_MS = 30 * 60_000
/** After an outage the tokens may be close to their end. */
const FIRST_MS = 60_000
/** Tokens that were made together are renewed over the last day of their week, not all at once. */
const JITTER_MS = 24 * 60 * 60_000
const KEYS = {
  adapter: materialKey(TENANT_SECRETS.adapterToken.name, TENANT_SECRETS.adapterToken.keys[0]),
  worker: materialKey(TENANT_SECRETS.runsWorkerToken.name, TENANT_SECRETS.runsWorkerToken.keys[0]),
} as const satisfies Record<TokenKind, string>
const KINDS = ['adapter', 'worker'] as const
const RENEWED = [TENANT_SECRETS.adapterToken.name, TENANT_SECRETS.runsWorkerToken.name]

/** Renews the tokens of the tenants' workloads weekly, with jitter (decision 2.11). */
export function startRefreshTokensJob(options: RefreshTokensOptions): Job {
  const work = () => refreshTokens(options)
  return startJob({ name: REFRESHER.reason, everyMs: EVERY_MS, firstMs: FIRST_MS, work, log: options.log })
}

/**
 * Renews both tokens of every live tenant that has an old one, in whatever state it is; answers how many. The Secret
 * comes before the row: what died in between is found by the revision of the Secret, which is ahead of the row's. A
 * tenant that fails is left for the next time and holds up no other.
 */
export async function refreshTokens(options: RefreshTokensOptions): Promise<number> {
  const { cluster, db, installNamespace: namespace, log } = options
  const { items } = await cluster.list<Secret>(SECRETS, {
    namespace,
    labelSelector: `${NAMESPACE_LABELS.managedBy}=service,${MATERIAL_LABEL}=true`,
  })
  const secrets = new Map(items.map((secret) => [secret.metadata.name, secret]))
  const rows = await asSystem(db, REFRESHER.reason, liveTenants, { loop: true })
  let renewed = 0
  for (const row of rows) {
    const secret = secrets.get(materialSecretName(row.id))
    if (secret === undefined) continue
    try {
      if (await refreshTenant(options, row, secret)) renewed += 1
    } catch (error) {
      log.warn({ err: error, tenant_id: row.id }, 'the tokens of a tenant could not be renewed')
    }
  }
  if (renewed > 0) options.wake()
  return renewed
}

const liveTenants = (tx: Tx): Promise<Row[]> =>
  tx.q
    .select({
      id: tenants.id,
      tokenVersion: tenants.tokenVersion,
      secretsRevision: tenants.secretsRevision,
    })
    .from(tenants)
    .where(isNull(tenants.deletedAt))

async function refreshTenant(options: RefreshTokensOptions, row: Row, secret: Secret): Promise<boolean> {
  const found = revisionOf(secret)
  const due = await isDue(options, row, secret)
  if (!due && found <= row.secretsRevision) return false
  const revision = due ? await rewrite(options, row, secret, found + 1) : found
  if (revision === null) return false
  await asSystem(options.db, REFRESHER.reason, (tx) => record(tx, options, row.id, revision), { loop: true })
  options.log.info({ tenant_id: row.id, secrets_revision: revision }, 'the tokens of a tenant are renewed')
  return true
}

const revisionOf = ({ metadata }: Secret): number =>
  Number(metadata.annotations?.[SECRETS_REVISION_ANNOTATION] ?? 0)

/** A token that is old, or that no longer opens anything. */
async function isDue({ tokens, clock }: RefreshTokensOptions, row: Row, secret: Secret): Promise<boolean> {
  for (const kind of KINDS) {
    const token = Buffer.from(secret.data?.[KEYS[kind]] ?? '', 'base64').toString('utf8')
    const subject = await tokens.verify(kind, token).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'invalid_token') return null
      throw error
    })
    if (subject === null || subject.tokenVersion !== row.tokenVersion) return true
    const issuedAt = (decodeJwt(token).iat ?? 0) * 1_000
    if (clock().getTime() - issuedAt >= refreshAge(row.id, issuedAt)) return true
  }
  return false
}

/** Between six and seven days, the same at every look. */
export function refreshAge(tenantId: string, issuedAt: number): number {
  const draw = createHash('sha256').update(`${tenantId}/${issuedAt}`).digest().readUInt32BE(0) / 2 ** 32
  return SERVICE_TOKEN.refreshMs - draw * JITTER_MS
}

/** With the version that was read: of two replicas one writes. `null` when somebody else has written meanwhile. */
async function rewrite(
  options: RefreshTokensOptions,
  row: Row,
  secret: Secret,
  revision: number,
): Promise<number | null> {
  const { cluster, tokens } = options
  const subject = { tenantId: row.id, tokenVersion: row.tokenVersion }
  const minted = await Promise.all(
    KINDS.map(async (kind) => {
      const { token } = await tokens.mint(kind, subject)
      return [KEYS[kind], Buffer.from(token, 'utf8').toString('base64')] as const
    }),
  )
  const { name, resourceVersion } = secret.metadata
  const annotations = { [SECRETS_REVISION_ANNOTATION]: String(revision) }
  const patch = { metadata: { resourceVersion, annotations }, data: Object.fromEntries(minted) }
  try {
    await cluster.patch(SECRETS, { name, namespace: options.installNamespace }, patch)
  } catch (error) {
    if (isKubeError(error, 'Conflict') || isKubeError(error, 'NotFound')) return null
    throw error
  }
  return revision
}

/** Once for each revision: row, references, lifecycle and audit row, and the mark that carries it to the cluster. */
async function record(tx: Tx, { clock }: RefreshTokensOptions, id: string, revision: number): Promise<void> {
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
  await tx.q
    .update(tenantSecrets)
    .set({ versionLabel: String(revision), updatedAt: now })
    .where(
      and(eq(tenantSecrets.tenantId, id), inArray(tenantSecrets.name, [...RENEWED, materialSecretName(id)])),
    )
  const details = { secrets_revision: revision, tokens: KINDS }
  await tx.q.insert(tenantLifecycleEvents).values({
    id: newId(clock),
    tenantId: id,
    at: now,
    kind: 'token.refreshed',
    actorId: `system:${REFRESHER.reason}`,
    details,
  })
  await writeAudit(tx, {
    principal: REFRESHER,
    action: 'tenant.tokens_refreshed',
    tenantId: id,
    resourceType: 'tenant',
    resourceId: id,
    requestId: null,
    details,
  })
  await markTenant(tx, id)
}
