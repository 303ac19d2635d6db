import { SECRETS_REVISION_ANNOTATION } from '@service/crds'
import type { Tenant } from '@service/crds'
import { FIELD_MANAGER, materialKey, materialSecretName, namespaceOf, TENANT_SECRETS } from '@service/domain'
import { SECRETS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import type { ReconcileContext } from '../context.ts'
import { checksumsOf } from '../desired/index.ts'
import type { MaterialSeen, Observation } from '../observation.ts'

type Secret = KubeObject & {
  readonly type?: string
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
}

/** Finds our copies in a namespace without reading release records. */
const COPY_LABEL = { 'service.dev/material': 'copy' } as const
/** A tenant without a key of its own has an empty one (decision 8.8). */
const MAY_BE_EMPTY: readonly string[] = [TENANT_SECRETS.llmKey.name]

type Material = {
  readonly seen: MaterialSeen
  /** Wanted data by the name of the Secret; filled when the material is ready. */
  readonly wanted: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** Compares in here, so that no value leaves: only names do. */
export async function observeSecrets(
  context: ReconcileContext,
  tenant: Tenant,
  namespaceIsOurs: boolean,
): Promise<Pick<Observation, 'material' | 'outdatedSecrets' | 'checksums'>> {
  const [material, present] = await Promise.all([
    readMaterial(context, tenant),
    namespaceIsOurs ? readCopies(context, namespaceOf(tenant.metadata.name)) : null,
  ])
  const copies = new Map([...(present ?? [])].map(([name, { data = {} }]) => [name, data]))
  return {
    material: material.seen,
    outdatedSecrets: present === null ? [] : outdatedNames(material, present),
    checksums: checksumsOf(material.seen.state === 'ready' ? material.wanted : copies),
  }
}

/** Writes those that are absent or differ. Makes nothing up: what is not in the material is not written. */
export async function secretsStep(context: ReconcileContext, tenant: Tenant): Promise<void> {
  const namespace = namespaceOf(tenant.metadata.name)
  const [material, present] = await Promise.all([
    readMaterial(context, tenant),
    readCopies(context, namespace),
  ])
  for (const name of outdatedNames(material, present)) {
    const data = material.wanted.get(name) ?? {}
    const secret: Secret = { metadata: { name, namespace, labels: COPY_LABEL }, type: 'Opaque', data }
    await context.kube.apply(SECRETS, secret, { fieldManager: FIELD_MANAGER.operator, force: true })
    context.hit('operator.secrets.one_written')
  }
  context.hit('operator.secrets.written')
}

/** The values themselves, for nothing but to be taken out of texts. Without the material there are none to quote. */
export async function secretValues(context: ReconcileContext, tenant: Tenant): Promise<string[]> {
  const { wanted } = await readMaterial(context, tenant)
  return [...wanted.values()].flatMap((data) =>
    Object.values(data).map((value) => Buffer.from(value, 'base64').toString()),
  )
}

async function readMaterial(context: ReconcileContext, tenant: Tenant): Promise<Material> {
  const key = {
    name: materialSecretName(tenant.spec.tenantId),
    namespace: context.config.installNamespace,
  }
  const secret = await context.kube.get<Secret>(SECRETS, key)
  const none = new Map<string, Readonly<Record<string, string>>>()
  if (secret === null) return { seen: { state: 'missing' }, wanted: none }
  const revision = Number(secret.metadata.annotations?.[SECRETS_REVISION_ANNOTATION] ?? 0)
  if (!(revision >= tenant.spec.secretsRevision)) {
    return { seen: { state: 'stale', revision: Number.isFinite(revision) ? revision : 0 }, wanted: none }
  }
  const data = secret.data ?? {}
  const missing = missingKeys(data)
  if (missing.length > 0) return { seen: { state: 'incomplete', keys: missing }, wanted: none }
  const wanted = Object.values(TENANT_SECRETS).map(({ name, keys }) => {
    const pairs = keys.map((each) => [each, data[materialKey(name, each)] ?? ''] as const)
    return [name, Object.fromEntries(pairs)] as const
  })
  return { seen: { state: 'ready' }, wanted: new Map(wanted) }
}

function missingKeys(data: Readonly<Record<string, string>>): string[] {
  return Object.values(TENANT_SECRETS).flatMap(({ name, keys }) =>
    keys
      .map((key) => materialKey(name, key))
      .filter((key) => {
        const value = data[key]
        return value === undefined || (value === '' && !MAY_BE_EMPTY.includes(name))
      }),
  )
}

async function readCopies(context: ReconcileContext, namespace: string): Promise<Map<string, Secret>> {
  const [label, value] = Object.entries(COPY_LABEL)[0] ?? []
  const { items } = await context.kube.list<Secret>(SECRETS, {
    namespace,
    labelSelector: `${label}=${value}`,
  })
  return new Map(items.map((item) => [item.metadata.name, item]))
}

function outdatedNames(material: Material, present: ReadonlyMap<string, Secret>): string[] {
  return [...material.wanted]
    .filter(([name, data]) =>
      Object.entries(data).some(([key, value]) => present.get(name)?.data?.[key] !== value),
    )
    .map(([name]) => name)
}
