import { setInterval as every } from 'node:timers/promises'
import type { Tenant } from '@service/crds'
import { namespaceOf, noFailpoints } from '@service/domain'
import type { KubeObject, Reflector } from '@service/kube'
import type { ReconcileContext } from './context.ts'
import { startController } from './controller.ts'
import type { Controller } from './controller.ts'
import { dispatch } from './dispatch.ts'
import { eventRecorder } from './events.ts'
import { fencedClient } from './fence.ts'
import { createHelmDriver } from './helm/driver.ts'
import { releaseReader } from './helm/release.ts'
import type { Term } from './lease.ts'
import type { OperatorMetrics } from './metrics.ts'
import { TenantOperator } from './operator.ts'
import { ownWrites } from './own-writes.ts'
import type { OwnWrites } from './own-writes.ts'
import { isFresh } from './plan.ts'
import { StepFailedError } from './reconcile.ts'
import type { OperatorOptions } from './start.ts'
import { cacheOf, isConnected, watchTheRest } from './watches.ts'

/** How often heartbeats are compared with the clock, in memory. */
const SWEEP_MS = 5_000
const BACKOFF = { firstMs: 1_000, maxMs: 300_000 }

export type TermState = {
  /** Seconds of silence of the quietest watch; `null` while none runs. */
  silence: () => number | null
}

/** All of the operator's work during one span of leadership; resolves when it has drained. */
export async function runTerm(
  options: OperatorOptions,
  metrics: OperatorMetrics,
  term: Term,
  state: TermState,
): Promise<void> {
  const { log } = options
  const own = ownWrites()
  let synced = false
  const kube = fencedClient(options.kube, term)
  const enqueue = (name: string): void => {
    // Before all caches are full, what they lack would be taken for absent.
    if (synced) controller.add(name, 'live')
  }
  const shell = TenantOperator.create({
    kube,
    log,
    hit: options.hit ?? noFailpoints,
    onTenant: ({ object }) => {
      const tenant = object as unknown as Tenant
      const { name } = tenant.metadata
      if (shell.tenants()?.get({ name }) === undefined) own.forget(name)
      if (!own.isOwn(tenant)) enqueue(name)
    },
  })
  const context = contextOf(options, shell, own, term)
  const controller = tenantController(context, shell, own, metrics)
  try {
    await shell.start()
    watchTheRest(shell, context.cache, enqueue)
    const reflectors = [...shell.reflectors().values()]
    state.silence = () => Math.max(...reflectors.map((each) => each.silenceSeconds()))
    await syncedOrDraining(reflectors, term.draining)
    if (term.draining.aborted) return
    synced = true
    const tenants = tenantsOf(shell)
    log.info({ tenants: tenants.length }, 'leading')
    for (const { metadata, status } of tenants) {
      controller.add(metadata.name, status?.phase === 'active' ? 'resync' : 'live')
    }
    await sweep(shell, context, controller, metrics)
  } finally {
    state.silence = () => null
    await controller.stop()
    await shell.stopped()
    context.helm.close()
  }
}

function contextOf(
  { config, clock, log, kube: plain, hit = noFailpoints }: OperatorOptions,
  shell: TenantOperator,
  own: OwnWrites,
  term: Term,
): ReconcileContext {
  const kube = fencedClient(plain, term)
  const onError = (error: unknown): void => log.debug({ err: error }, 'event was not written')
  return {
    kube,
    cache: cacheOf(shell, own),
    helm: createHelmDriver(config, () => term.heldUntil()),
    config,
    log,
    clock,
    releases: releaseReader(),
    events: eventRecorder({ kube, clock, identity: config.identity, onError }),
    wrote: (tenant) => own.wrote(tenant),
    troubles: new Map(),
    hit,
    draining: term.draining,
    signal: term.signal,
  }
}

function tenantController(
  context: ReconcileContext,
  shell: TenantOperator,
  own: OwnWrites,
  metrics: OperatorMetrics,
): Controller {
  const { config, log, signal } = context
  return startController({
    concurrency: config.concurrency,
    resyncMs: config.resyncMs,
    backoff: BACKOFF,
    metrics,
    reconcile: (name) => dispatch(context, shell, own, name),
    onFailure: (tenant, error, retryMs) => {
      const expected = error instanceof StepFailedError || signal.aborted
      const details = { tenant, err: error, retryMs: Math.round(retryMs) }
      log[expected ? 'info' : 'warn'](details, 'reconciliation failed')
    },
  })
}

const tenantsOf = (shell: TenantOperator): readonly Tenant[] =>
  (shell.tenants()?.items() ?? []) as unknown as Tenant[]

async function syncedOrDraining(reflectors: readonly Reflector<KubeObject>[], draining: AbortSignal) {
  const drained = new Promise<void>((resolve) => {
    if (draining.aborted) resolve()
    else draining.addEventListener('abort', () => resolve(), { once: true })
  })
  await Promise.race([drained, Promise.all(reflectors.map((each) => each.hasSynced()))])
}

/** Until the term drains: what no event tells, the passing of time, is looked for here. */
async function sweep(
  shell: TenantOperator,
  context: ReconcileContext,
  controller: Controller,
  metrics: OperatorMetrics,
): Promise<void> {
  try {
    for await (const _ of every(SWEEP_MS, undefined, { signal: context.draining })) {
      for (const [kind, reflector] of shell.reflectors()) metrics.silence(kind, reflector.silenceSeconds())
      for (const tenant of tenantsOf(shell)) {
        if (!isConnected(tenant)) continue
        const renewed = context.cache.heartbeat(namespaceOf(tenant.metadata.name))?.spec?.renewTime
        const fresh = renewed !== undefined && isFresh(new Date(renewed), context.clock())
        if (!fresh) controller.add(tenant.metadata.name, 'live')
      }
    }
  } catch (error) {
    if (!context.draining.aborted) throw error
  }
}
