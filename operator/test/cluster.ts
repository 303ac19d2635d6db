import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SECRETS_REVISION_ANNOTATION, TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import {
  ADAPTER_LEASE_NAME,
  materialKey,
  materialSecretName,
  namespaceOf,
  TENANT_SECRETS,
} from '@service/domain'
import { createKubeClient, LEASES, NAMESPACES, PODS, SECRETS } from '@service/kube'
import type { KubeClient, KubeObject, ResourceType } from '@service/kube'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { parse } from 'yaml'
import { startEmbeddedCluster } from '../../dev/src/cluster/embedded.ts'
import { ensureTools } from '../../dev/src/cluster/tools.ts'
import { parseOperatorConfig, startOperator } from '../src/index.ts'
import type { OperatorHandle, OperatorOptions } from '../src/index.ts'

export const INSTALL = 'service-system'
export const CHART = fileURLToPath(new URL('../../charts/service-tenant', import.meta.url))
const CRDS: ResourceType = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

export type TestBed = Awaited<ReturnType<typeof startTestBed>>

/**
 * A control plane of its own, because Tenants are cluster-scoped and an operator works on all of them. No kubelet and no
 * KWOK: pods never run, and where readiness is needed the tests set their status themselves.
 */
export async function startTestBed() {
  const directory = await mkdtemp(join(tmpdir(), 'service-operator-'))
  const cluster = await startEmbeddedCluster({ dataDir: join(directory, 'cluster'), simulation: false })
  const tools = await ensureTools()
  const kube = createKubeClient({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'operator-test' })
  await kube.create(NAMESPACES, { metadata: { name: INSTALL } })
  const file = await readFile(new URL('../../crds/tenants.service.dev.yaml', import.meta.url), 'utf8')
  await kube.create(CRDS, parse(file) as KubeObject)
  await eventually('the Tenant kind is served', async () => (await kube.list(TENANTS)) !== undefined)
  const operators = new Set<OperatorHandle>()
  /** Also those that a failed test has left: they would lead on in the next one. */
  const stopOperators = async (): Promise<void> => {
    const running = [...operators]
    operators.clear()
    await Promise.all(running.map((operator) => operator.stop()))
  }
  return {
    kube,
    directory,
    tools,
    kubeconfigPath: cluster.kubeconfigPath,
    /** Stops and starts like processes do: nothing is carried over but what the cluster holds. */
    startOperator: async (
      env: Readonly<Record<string, string>> = {},
      more: Partial<OperatorOptions> = {},
    ) => {
      const operator = await startOperator({
        kube,
        config: parseOperatorConfig({ ...baseEnv(cluster.kubeconfigPath, tools.helm), ...env }),
        log: pino({ level: process.env['LOG'] ?? 'silent' }),
        clock: () => new Date(),
        registry: new Registry(),
        ...more,
      })
      operators.add(operator)
      return {
        ...operator,
        stop: async () => {
          operators.delete(operator)
          await operator.stop()
        },
      }
    },
    stopOperators,
    end: async () => {
      await stopOperators()
      await kube.close()
      await cluster.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export const baseEnv = (kubeconfig: string, helm: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  SERVICE_KUBECONFIG: kubeconfig,
  SERVICE_HELM: helm,
  SERVICE_TENANT_CHART: CHART,
  SERVICE_ADAPTER_API_URL: 'http://127.0.0.1:8080',
  SERVICE_ADAPTER_INDEXER_URL: 'http://127.0.0.1:9200/{slug}',
  SERVICE_TENANT_WAZUH: 'false',
})

export async function eventually(
  what: string | (() => string),
  condition: () => Promise<boolean> | boolean,
  ms = 60_000,
): Promise<void> {
  const deadline = performance.now() + ms
  let last: unknown
  for (;;) {
    try {
      if (await condition()) return
    } catch (error) {
      last = error
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${ms} ms: ${typeof what === 'string' ? what : what()}`, { cause: last })
    await sleep(50)
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** What the API writes before it creates a row. */
export async function writeMaterial(kube: KubeClient, tenant: Tenant, revision = 1): Promise<void> {
  const keys = Object.values(TENANT_SECRETS).flatMap(({ name, keys }) =>
    keys.map(
      (key) => [materialKey(name, key), key === 'api_key' ? '' : base64(`${key}-${revision}`)] as const,
    ),
  )
  const secret = {
    metadata: {
      name: materialSecretName(tenant.spec.tenantId),
      namespace: INSTALL,
      annotations: { [SECRETS_REVISION_ANNOTATION]: String(revision) },
    },
    data: Object.fromEntries(keys),
  }
  await kube.apply(SECRETS, secret, { fieldManager: 'service-api' })
}

/** What the API does on a heartbeat. */
export async function renewHeartbeat(kube: KubeClient, slug: string, at = new Date()): Promise<void> {
  const lease = {
    metadata: { name: ADAPTER_LEASE_NAME, namespace: namespaceOf(slug) },
    spec: { leaseDurationSeconds: 150, renewTime: at.toISOString().replace('Z', '000Z') },
  }
  await kube.apply(LEASES, lease, { fieldManager: 'service-api', force: true })
}

/**
 * In place of a kubelet: says of every pod of the namespace that it runs, or that it does not. What follows for the
 * Deployments the real controllers work out.
 */
export async function setPodsReady(kube: KubeClient, slug: string, ready: boolean): Promise<void> {
  const namespace = namespaceOf(slug)
  const count = async (): Promise<number> => (await kube.list(PODS, { namespace })).items.length
  await eventually(`pods in ${namespace}`, async () => (await count()) > 0)
  const { items } = await kube.list(PODS, { namespace })
  const condition = { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: new Date() }
  for (const { metadata } of items) {
    const status = { phase: 'Running', conditions: [condition] }
    await kube.patch(PODS, metadata, { status }, { subresource: 'status' })
  }
}

export const readTenant = async (kube: KubeClient, slug: string): Promise<Tenant> => {
  const tenant = await kube.get<Tenant>(TENANTS, { name: slug })
  if (tenant === null) throw new Error(`no Tenant ${slug}`)
  return tenant
}
