import type { Tenant } from '@service/crds'
import { NAMESPACE_LABELS, namespaceOf } from '@service/domain'
import { isKubeError, NAMESPACES, VOLUME_CLAIMS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import type { Namespace, ReconcileContext, WorkloadObject } from './context.ts'
import { buildValues, namespaceManifest } from './desired/index.ts'
import type { PlatformValues, SecretChecksums } from './desired/index.ts'
import { digestOf } from './helm/release.ts'
import type { Release, Workload } from './helm/release.ts'
import type { Chart } from './helm/driver.ts'
import { isTerminating } from './failure.ts'
import type { DesiredRelease, NamespaceSeen, Observation } from './observation.ts'
import { accessStep } from './steps/access.ts'
import { observeSecrets } from './steps/secrets.ts'
import { WORKLOAD_TYPES } from './watches.ts'

export type Observed = Observation & { readonly release: Release | null; readonly chart: Chart }

/**
 * Looks at everything that one tenant consists of. Watches first; the server is asked for what they do not have. One thing
 * is made on the way: the right to look into the namespace. One that is going takes it away, and is not looked into.
 */
export async function observe(context: ReconcileContext, tenant: Tenant): Promise<Observed> {
  const name = namespaceOf(tenant.metadata.name)
  const namespace = await enterNamespace(context, tenant)
  const inside = namespace.state === 'ours'
  const [secrets, release, chart] = await Promise.all([
    observeSecrets(context, tenant, inside),
    inside ? context.releases.read(context.kube, name) : null,
    context.helm.chartOf(tenant),
  ])
  const renewed = inside ? context.cache.heartbeat(name)?.spec?.renewTime : undefined
  const heartbeatAt = renewed === undefined ? null : new Date(renewed)
  return {
    namespace,
    ...secrets,
    release,
    chart,
    desired: desiredRelease(context, tenant, chart, secrets.checksums),
    workloads: release === null ? null : await observeWorkloads(context, name, release.workloads),
    heartbeatAt: heartbeatAt === null || Number.isNaN(heartbeatAt.getTime()) ? null : heartbeatAt,
  }
}

async function enterNamespace(context: ReconcileContext, tenant: Tenant): Promise<NamespaceSeen> {
  const seen = await observeNamespace(context, tenant)
  if (seen.state !== 'ours') return seen
  try {
    await accessStep(context, namespaceOf(tenant.metadata.name))
    return seen
  } catch (error) {
    // The watch was behind.
    if (!isTerminating(error)) throw error
    return { state: 'terminating', uid: seen.uid, blockers: [] }
  }
}

export async function observeNamespace(context: ReconcileContext, tenant: Tenant): Promise<NamespaceSeen> {
  const name = namespaceOf(tenant.metadata.name)
  const seen = context.cache.namespace(name) ?? (await context.kube.get<Namespace>(NAMESPACES, { name }))
  if (seen === null) return { state: 'absent' }
  const { labels = {}, uid = '', deletionTimestamp } = seen.metadata
  const owner = labels[NAMESPACE_LABELS.tenantId]
  const going = deletionTimestamp !== undefined || seen.status?.phase === 'Terminating'
  if (owner !== tenant.spec.tenantId) return { state: 'foreign', tenantId: owner ?? null, going }
  if (going) {
    return { state: 'terminating', uid, blockers: blockersOf(seen) }
  }
  const wanted = Object.entries(namespaceManifest(tenant, context.config.wazuh).metadata.labels)
  return { state: 'ours', uid, labelled: wanted.every(([label, value]) => labels[label] === value) }
}

/** What the cluster says keeps a namespace from going: finalizers and what is left in it. */
function blockersOf(namespace: Namespace): string[] {
  const telling = [
    'NamespaceContentRemaining',
    'NamespaceFinalizersRemaining',
    'NamespaceDeletionContentFailure',
  ]
  return (namespace.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && telling.includes(type))
    .flatMap(({ message }) => (message === undefined ? [] : [message]))
}

export function platformOf(context: Pick<ReconcileContext, 'config'>, tenant: Tenant): PlatformValues {
  const { adapter, nodeSelector, wazuh, network } = context.config
  const slug = tenant.metadata.name
  const indexerUrl = adapter.indexerUrl
    .replaceAll('{slug}', slug)
    .replaceAll('{namespace}', namespaceOf(slug))
  return { adapter: { ...adapter, indexerUrl }, nodeSelector, wazuh, network }
}

function desiredRelease(
  context: ReconcileContext,
  tenant: Tenant,
  chart: Chart,
  checksums: SecretChecksums,
): DesiredRelease {
  try {
    const values = buildValues(tenant, platformOf(context, tenant), checksums)
    return { valuesDigest: digestOf(values), chartVersion: chart.version === '' ? null : chart.version }
  } catch (error) {
    return { invalid: error instanceof Error ? error.message : String(error) }
  }
}

async function observeWorkloads(
  context: ReconcileContext,
  namespace: string,
  workloads: readonly Workload[],
): Promise<NonNullable<Observation['workloads']>> {
  const unready: string[] = []
  for (const workload of workloads) {
    const type = WORKLOAD_TYPES[workload.kind]
    // A watch that is behind, or a label that a chart forgot, must not look like a missing workload.
    const object =
      context.cache.workload(namespace, workload) ??
      (await context.kube.get<WorkloadObject>(type, { name: workload.name, namespace }))
    const problem = object === null ? 'it does not exist' : problemOf(workload, object)
    if (problem !== undefined) unready.push(`${workload.kind} ${workload.name}: ${problem}`)
  }
  if (unready.length > 0) unready.push(...(await waitingClaims(context, namespace)))
  return { total: workloads.length, unready }
}

type VolumeClaim = KubeObject & { readonly status?: { readonly phase?: string } }

/** Why pods of a StatefulSet may not start. Only explains: without the right to read them nothing is said. */
async function waitingClaims(context: ReconcileContext, namespace: string): Promise<string[]> {
  const { items } = await context.kube
    .list<VolumeClaim>(VOLUME_CLAIMS, { namespace })
    .catch((error: unknown) => {
      if (isKubeError(error, 'Forbidden')) return { items: [] }
      throw error
    })
  return items.flatMap(({ metadata, status }) => {
    const phase = status?.phase ?? 'Pending'
    return phase === 'Bound' ? [] : [`PersistentVolumeClaim ${metadata.name}: ${phase}`]
  })
}

/** What kubectl rollout status waits for, in one sentence; `undefined` when there is nothing to wait for. */
export function problemOf(workload: Workload, object: WorkloadObject): string | undefined {
  const { status = {}, metadata } = object
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return 'not looked at yet'
  const { wanted, ready, updated, all } = countsOf(workload, object)
  if (ready >= wanted && updated >= wanted && all <= Math.max(updated, wanted)) return undefined
  const reason = status.conditions?.find(({ type, status }) =>
    type === 'ReplicaFailure' ? status === 'True' : type === 'Progressing' && status === 'False',
  )?.message
  return `${Math.min(ready, updated)} of ${wanted} ready${reason === undefined ? '' : ` (${reason})`}`
}

/** The same four numbers of every kind; only a Deployment has pods of its former self beside the new ones. */
function countsOf({ kind }: Workload, { spec, status = {} }: WorkloadObject) {
  if (kind === 'DaemonSet') {
    const {
      desiredNumberScheduled: wanted = 0,
      numberAvailable: ready = 0,
      updatedNumberScheduled = 0,
    } = status
    return { wanted, ready, updated: updatedNumberScheduled, all: wanted }
  }
  const ready = (kind === 'Deployment' ? status.availableReplicas : status.readyReplicas) ?? 0
  return {
    wanted: spec?.replicas ?? 1,
    ready,
    updated: status.updatedReplicas ?? 0,
    all: status.replicas ?? 0,
  }
}
