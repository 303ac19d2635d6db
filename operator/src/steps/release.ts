import type { Tenant } from '@service/crds'
import { namespaceOf } from '@service/domain'
import { SECRETS } from '@service/kube'
import type { ReconcileContext } from '../context.ts'
import { buildValues } from '../desired/index.ts'
import { platformOf } from '../observe.ts'
import type { Observed } from '../observe.ts'

/**
 * Runs helm once. A record that a killed run of ours has left pending blocks every later run: it is removed first; the
 * objects that it had made carry helm's ownership annotations and are taken up again.
 */
export async function releaseStep(context: ReconcileContext, tenant: Tenant, seen: Observed): Promise<void> {
  const namespace = namespaceOf(tenant.metadata.name)
  const { release } = seen
  if (release?.ours === true) {
    const { name, uid } = release.secret
    await context.kube.delete(SECRETS, { name, namespace }, { uid })
    context.log.info({ tenant: tenant.metadata.name, record: name }, 'removed an interrupted release record')
  }
  const values = buildValues(tenant, platformOf(context, tenant), seen.checksums)
  const onStarted = (): void => context.hit('operator.release.helm_started')
  await context.helm.upgrade({ namespace, chart: seen.chart, values, signal: context.signal, onStarted })
  context.hit('operator.release.installed')
}
