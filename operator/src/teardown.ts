import type { JournalKind } from '@service/domain'
import type { Tenant } from '@service/crds'
import { namespaceOf } from '@service/domain'
import { NAMESPACES } from '@service/kube'
import type { ReconcileContext } from './context.ts'
import { HelmError } from './helm/error.ts'
import { lastChangeTo } from './journal.ts'
import { observe } from './observe.ts'
import type { Observed } from './observe.ts'
import { assess, planTeardown } from './plan.ts'
import type { TeardownNext } from './plan.ts'
import { writeStatus } from './reconcile.ts'
import { nextStatus } from './status.ts'

export type TeardownOutcome =
  | { readonly finished: true; readonly tenant: Tenant }
  | { readonly finished: false; readonly requeueAfterMs: number }

const MAX_PASSES = 8
/** The namespace's going arrives as an event; this only covers a lost one, and keeps what blocks it up to date. */
const WAITING_MS = 10_000

/**
 * Carries out an order to tear down: release, namespace, and nothing else. Records the change of phase before the first
 * destructive act, and each end when it has been seen. Fails when the cluster or helm does; then it is tried again.
 */
export async function teardownTenant(context: ReconcileContext, start: Tenant): Promise<TeardownOutcome> {
  let tenant = start
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const seen = await observe(context, tenant)
    const next = planTeardown(seen)
    tenant = await record(context, tenant, seen, next, false)
    if (next.do === 'finished') return { finished: true, tenant }
    if (next.do === 'wait') return { finished: false, requeueAfterMs: WAITING_MS }
    if (context.draining.aborted) return { finished: false, requeueAfterMs: 0 }
    await destroy(context, tenant, seen, next)
    // Its going arrives as an event.
    if (next.do === 'delete-namespace') return { finished: false, requeueAfterMs: WAITING_MS }
  }
  return { finished: false, requeueAfterMs: WAITING_MS }
}

async function destroy(
  context: ReconcileContext,
  tenant: Tenant,
  seen: Observed,
  next: Extract<TeardownNext, { do: 'uninstall' | 'delete-namespace' }>,
): Promise<void> {
  const namespace = namespaceOf(tenant.metadata.name)
  if (next.do === 'delete-namespace') {
    await context.kube.delete(NAMESPACES, { name: namespace }, { uid: next.uid })
    context.hit('operator.teardown.namespace_deleted')
    return
  }
  try {
    const hooks = tenant.spec.teardown?.force !== true
    await context.helm.uninstall({ namespace, hooks, signal: context.signal })
    context.hit('operator.teardown.uninstalled')
  } catch (error) {
    const failed = error instanceof HelmError && (error.kind === 'failed' || error.kind === 'deadline')
    if (failed) await record(context, tenant, seen, { do: 'wait', message: error.message }, true)
    throw error
  }
}

async function record(
  context: ReconcileContext,
  tenant: Tenant,
  seen: Observed,
  next: TeardownNext,
  failed: boolean,
): Promise<Tenant> {
  const now = context.clock()
  const kinds: JournalKind[] = []
  if (seen.release === null) kinds.push('uninstalled')
  if (next.do === 'finished') kinds.push('namespace.deleted')
  const status = nextStatus({
    tenant,
    verdicts: assess(tenant, seen, now),
    next: { do: 'rest', requeueAfterMs: null },
    now,
    release: null,
    namespaceLost: false,
    teardown: {
      message: messageOf(next),
      failed,
      entries: kinds.filter((kind) => !recorded(tenant, kind)).map((kind) => ({ kind })),
    },
  })
  return writeStatus(context, tenant, status)
}

/** Within this decommissioning: an earlier one may have been cancelled. */
function recorded(tenant: Tenant, kind: JournalKind): boolean {
  const journal = tenant.status?.journal ?? []
  const since = lastChangeTo(journal, 'decommissioning')?.seq ?? Infinity
  return journal.some((entry) => entry.kind === kind && entry.seq > since)
}

function messageOf(next: TeardownNext): string {
  switch (next.do) {
    case 'uninstall':
      return 'The release is being uninstalled.'
    case 'delete-namespace':
      return 'The namespace is being deleted.'
    case 'wait':
      return next.message
    default:
      return 'Release and namespace are gone.'
  }
}
