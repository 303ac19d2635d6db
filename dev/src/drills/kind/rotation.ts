import { generateAlerts, loadAlerts } from '../../alerts/index.ts'
import { materialSecretName, namespaceOf, TENANT_SECRETS } from '@service/domain'
import { GUIDE_TENANT, NAMESPACE, RELEASE } from '../../kind/layout.ts'
import { until } from '../crash/tenants.ts'
import { untilStored } from './load.ts'
import type { KindDrill } from './world.ts'

const TENANT = namespaceOf(GUIDE_TENANT)
const { name: SECRET, keys } = TENANT_SECRETS.adapterToken
/** The API looks a minute after its start, the kubelet about every minute. */
const PATIENCE_MS = 300_000

export type Rotation = {
  /** From the Secret in the install's namespace to the tenant's own. */
  readonly copiedMs: number
  /** From there to an alert that the API has taken with the new token. */
  readonly usedMs: number
  readonly restarted: boolean
}

const read = async (drill: KindDrill, ...what: string[]): Promise<string> => drill.kubectl('get', ...what)
const adapterPod = (drill: KindDrill): Promise<string> => {
  const each = '{.metadata.uid} {.status.containerStatuses[0].restartCount}'
  const selector = 'app.kubernetes.io/component=adapter'
  return read(drill, 'pods', '-n', TENANT, '-l', selector, '-o', `jsonpath={range .items[*]}${each}{end}`)
}

/**
 * The tenant's tokens are withdrawn, as after a leak: the old one opens nothing any more. The API makes new ones at its next
 * look, and only by them the adapter can go on.
 */
export async function rotateToken(drill: KindDrill): Promise<Rotation> {
  const material = ['secret', materialSecretName(drill.tenantId), '-n', NAMESPACE]
  const version = () => read(drill, ...material, '-o', 'jsonpath={.metadata.resourceVersion}')
  const token = () => read(drill, 'secret', SECRET, '-n', TENANT, '-o', `jsonpath={.data.${keys[0]}}`)
  const [pod, former, formerToken] = await Promise.all([adapterPod(drill), version(), token()])
  await drill.sql`update tenants set token_version = token_version + 1 where id = ${drill.tenantId}`
  await drill.kubectl('rollout', 'restart', `deployment/${RELEASE}-api`, '-n', NAMESPACE)
  await until('new tokens to be made', async () => (await version()) !== former, PATIENCE_MS)
  const madeAt = performance.now()
  await until('the tenant to have its token', async () => (await token()) !== formerToken, PATIENCE_MS)
  const copiedAt = performance.now()
  const alerts = generateAlerts({ count: 1, seed: 1, until: new Date(), minutes: 0.01 })
  const probe = alerts.map((alert) => ({ ...alert, id: 'rotated' }))
  await loadAlerts(drill.kind.connection.indexer_url, GUIDE_TENANT, probe)
  await untilStored(drill, ['rotated'], PATIENCE_MS)
  return {
    copiedMs: copiedAt - madeAt,
    usedMs: performance.now() - copiedAt,
    restarted: (await adapterPod(drill)) !== pod,
  }
}
