import type { Tenant } from '@service/crds'
import { namespaceOf } from '@service/domain'
import { NAMESPACES } from '@service/kube'
import type { ReconcileContext } from '../context.ts'
import type { TeardownNext } from '../plan.ts'

export type RollbackAct = Extract<TeardownNext, { do: 'uninstall' | 'delete-namespace' }>

/**
 * One act of removing what a failed installation has left. No hooks, because the installation ran none; the namespace
 * only by the uid that was seen to be ours.
 */
export async function rollbackStep(
  context: ReconcileContext,
  tenant: Tenant,
  act: RollbackAct,
): Promise<void> {
  const namespace = namespaceOf(tenant.metadata.name)
  if (act.do === 'uninstall') {
    await context.helm.uninstall({ namespace, hooks: false, signal: context.signal })
    context.hit('operator.rollback.uninstalled')
    return
  }
  await context.kube.delete(NAMESPACES, { name: namespace }, { uid: act.uid })
  context.hit('operator.rollback.namespace_deleted')
}
