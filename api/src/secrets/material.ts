import { SECRETS_REVISION_ANNOTATION } from '@service/crds'
import {
  llmCopySecretName,
  materialKey,
  materialSecretName,
  NAMESPACE_LABELS,
  namespaceOf,
  ServiceError,
  TENANT_SECRETS,
} from '@service/domain'
import { isKubeError, type KubeClient, type KubeObject, NAMESPACES, SECRETS } from '@service/kube'
import type { ServiceTokens, TokenSubject } from '../tokens/tokens.ts'
import { completeWazuhMaterial, type Material } from './wazuh.ts'

/** Marks the install-namespace Secrets that hold a tenant's material, so that those without a row can be found. */
export const MATERIAL_LABEL = 'service.dev/material'
const CALL_MS = 5_000

type Secret = KubeObject & {
  readonly type: 'Opaque'
  readonly data: Readonly<Record<string, string>>
}

/** All of a tenant's material, by the key of the Secret that carries it to the operator (decision 8.8). */
export async function generateMaterial(
  tokens: ServiceTokens,
  subject: TokenSubject,
  tenant: { readonly slug: string; readonly llmApiKey: string; readonly now: Date },
): Promise<Material> {
  const { adapterToken, runsWorkerToken, llmKey } = TENANT_SECRETS
  const own = {
    [materialKey(adapterToken.name, 'token')]: (await tokens.mint('adapter', subject)).token,
    [materialKey(runsWorkerToken.name, 'token')]: (await tokens.mint('worker', subject)).token,
  }
  const wazuh = { id: subject.tenantId, namespace: namespaceOf(tenant.slug) }
  const { material } = await completeWazuhMaterial(own, wazuh, tenant.now)
  return { ...material, [materialKey(llmKey.name, 'api_key')]: tenant.llmApiKey }
}

export type MaterialStore = {
  /** Writes both Secrets of a new tenant. Fails with `unavailable` when the cluster cannot take them. */
  create(tenantId: string, secretsRevision: number, material: Material): Promise<void>
  /** Takes back what `create` wrote, when the tenant certainly has no row. Best effort: the rest is collected later. */
  discard(tenantId: string): Promise<void>
}

export function createMaterialStore(cluster: KubeClient | null, namespace: string): MaterialStore {
  return {
    async create(tenantId, secretsRevision, material) {
      if (cluster === null) throw unavailable()
      const llmKey = material[materialKey(TENANT_SECRETS.llmKey.name, 'api_key')] ?? ''
      try {
        await createInNamespace(
          cluster,
          secret(namespace, materialSecretName(tenantId), tenantId, material, secretsRevision),
        )
        await createInNamespace(
          cluster,
          secret(namespace, llmCopySecretName(tenantId), tenantId, { api_key: llmKey }, secretsRevision),
        )
      } catch (error) {
        throw isKubeError(error) ? unavailable(error) : error
      }
    },
    async discard(tenantId) {
      if (cluster === null) return
      const names = [materialSecretName(tenantId), llmCopySecretName(tenantId)]
      await Promise.allSettled(
        names.map((name) => cluster.delete(SECRETS, { name, namespace }, { timeoutMs: CALL_MS })),
      )
    },
  }
}

/** The install's namespace is made on the way, where nobody has made it (development). */
async function createInNamespace(cluster: KubeClient, object: Secret): Promise<void> {
  try {
    await cluster.create(SECRETS, object, { timeoutMs: CALL_MS })
  } catch (error) {
    const { namespace } = object.metadata
    if (!isKubeError(error, 'NotFound') || namespace === undefined) throw error
    await ensureNamespace(cluster, namespace)
    await cluster.create(SECRETS, object, { timeoutMs: CALL_MS })
  }
}

/** Makes the install's namespace unless it is there. */
export async function ensureNamespace(cluster: KubeClient, name: string): Promise<void> {
  const call = { timeoutMs: CALL_MS }
  if ((await cluster.get(NAMESPACES, { name }, call)) !== null) return
  const labels = { [NAMESPACE_LABELS.managedBy]: 'service' }
  const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  await cluster.create(NAMESPACES, namespace, call).catch((error: unknown) => {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  })
}

function secret(
  namespace: string,
  name: string,
  tenantId: string,
  texts: Readonly<Record<string, string>>,
  secretsRevision: number,
): Secret {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  )
  const labels = {
    [NAMESPACE_LABELS.managedBy]: 'service',
    [NAMESPACE_LABELS.tenantId]: tenantId,
    [MATERIAL_LABEL]: 'true',
  }
  const annotations = { [SECRETS_REVISION_ANNOTATION]: String(secretsRevision) }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels, annotations },
    type: 'Opaque',
    data,
  }
}

const unavailable = (cause?: unknown): ServiceError =>
  new ServiceError(
    'unavailable',
    'The cluster cannot be reached, so the secrets of the tenant cannot be stored',
    {},
    cause,
  )
