import { type Tenant, TENANTS, TenantStatus } from '@service/crds'
import type { Clock, HitFailpoint } from '@service/domain'
import { type KubeClient, startReflector } from '@service/kube'
import * as v from 'valibot'
import type { Database } from '../db/database.ts'
import { asSystem } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { createKeyedWorker } from './keyed-worker.ts'
import { isNothing, type Observed, projectStatus } from './project.ts'
import { markTenant } from './queue.ts'
import { PROJECTOR, readKnown, writeChanges } from './store.ts'

export type StatusWatchOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly hit: HitFailpoint
  /** There is a new mark. */
  readonly wake: () => void
}
export type StatusWatch = {
  /** Reads every known resource again. */
  resync(): void
  hasSynced(): Promise<void>
  /** Resources without a row: reported, never deleted (decision 8.7). */
  orphans(): readonly string[]
  silenceSeconds(): number
  stop(): Promise<void>
}
type Change = { readonly type: 'set' | 'deleted'; readonly tenant: Tenant }

const CONCURRENCY = 4
const LOOP = { loop: true } as const

/** Follows the Tenant resources and brings their status and journal into the database. */
export function startStatusWatch(options: StatusWatchOptions): StatusWatch {
  const { log } = options
  const orphans = new Set<string>()
  const worker = createKeyedWorker<Change>({
    concurrency: CONCURRENCY,
    work: (change) =>
      change.type === 'deleted' ? takeBack(options, orphans, change.tenant) : project(change.tenant),
    onError: (error, name) => log.warn({ err: error, tenant: name }, 'a status was not taken over'),
  })

  async function project(tenant: Tenant): Promise<void> {
    const { name } = tenant.metadata
    const known = await projectTenant(options, tenant)
    if (known) orphans.delete(name)
    else if (!orphans.has(name)) {
      orphans.add(name)
      log.warn({ tenant: name }, 'this Tenant has no row; it is left alone')
    }
  }

  const reflector = startReflector<Tenant>({
    client: options.cluster,
    type: TENANTS,
    onEvent: ({ type, object }) => worker.put(object.metadata.name, { type, tenant: object }),
    onError: (error) => log.warn({ err: error }, 'the watch of Tenants was interrupted'),
  })
  return {
    resync: () => {
      for (const tenant of reflector.items()) worker.put(tenant.metadata.name, { type: 'set', tenant })
    },
    hasSynced: () => reflector.hasSynced(),
    orphans: () => [...orphans],
    silenceSeconds: () => reflector.silenceSeconds(),
    async stop() {
      await reflector.stop()
      await worker.stop()
    },
  }
}

/**
 * Takes one status over, all of it in one transaction or nothing of it; `false` when the resource has no row. Looks
 * first and locks only when there is something to write.
 */
export async function projectTenant(
  options: Pick<StatusWatchOptions, 'db' | 'clock' | 'log' | 'hit'>,
  tenant: Tenant,
): Promise<boolean> {
  const identity = { id: tenant.spec.tenantId, slug: tenant.metadata.name }
  const observed = observe(options.log, tenant)
  if (observed === null) return true
  const outcome = await asSystem(
    options.db,
    PROJECTOR.reason,
    async (tx) => {
      const seen = await readKnown(tx, identity, observed, { lock: false })
      if (seen === null) return 'unknown'
      if (isNothing(projectStatus(seen, observed, options.clock()))) return 'unchanged'
      const known = await readKnown(tx, identity, observed, { lock: true })
      if (known === null) return 'unknown'
      const changes = projectStatus(known, observed, options.clock())
      if (isNothing(changes)) return 'unchanged'
      await writeChanges(tx, identity.id, observed, changes, options.clock)
      return 'written'
    },
    LOOP,
  )
  if (outcome === 'written') options.hit('api.projector.status_committed')
  return outcome !== 'unknown'
}

/** `null` for a status that is not one of ours; the API server should not have let it in. */
function observe(log: Log, { metadata, status }: Tenant): Observed | null {
  const parsed = v.safeParse(TenantStatus, status ?? {})
  if (parsed.success && metadata.uid !== undefined) return { uid: metadata.uid, status: parsed.output }
  log.error({ tenant: metadata.name }, 'this Tenant has a status that cannot be read')
  return null
}

/** A resource that went away without an order to tear down is made again (decision 8.7). */
async function takeBack(
  options: StatusWatchOptions,
  orphans: Set<string>,
  { metadata, spec }: Tenant,
): Promise<void> {
  orphans.delete(metadata.name)
  if (spec.teardown !== undefined) return
  const marked = await asSystem(
    options.db,
    PROJECTOR.reason,
    async (tx) => {
      const rows = await tx.sql`
        select from tenants where id = ${spec.tenantId} and slug = ${metadata.name} and deleted_at is null`
      if (rows.length > 0) await markTenant(tx, spec.tenantId)
      return rows.length > 0
    },
    LOOP,
  )
  if (!marked) return
  options.log.warn({ tenant: metadata.name }, 'this Tenant was deleted without an order; it is made again')
  options.wake()
}
