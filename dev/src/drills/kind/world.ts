import postgres from 'postgres'
import { clusterTools } from '../../kind/kubectl.ts'
import type { ClusterTools } from '../../kind/kubectl.ts'
import { GUIDE_TENANT, NAMESPACE } from '../../kind/layout.ts'
import type { KindWorld } from '../../kind/layout.ts'
import { signIn } from '../../system/rest.ts'
import type { TenantWorld } from '../crash/tenants.ts'

/** The installed system with the guide's tenant, which the drill's events go to. */
export type KindDrill = TenantWorld & {
  readonly kind: KindWorld
  readonly tools: ClusterTools
  readonly tenantId: string
  end(): Promise<void>
}

export async function openDrill(kind: KindWorld): Promise<KindDrill> {
  const tools = await clusterTools(kind.cluster.kubeconfigPath)
  const options = { max: 2, fetch_types: false, connect_timeout: 5, onnotice: () => undefined }
  const sql = postgres(kind.connection.databases.mssp, options)
  const [row] = await sql<{ id: string }[]>`select id from tenants where slug = ${GUIDE_TENANT}`
  return {
    kind,
    tools,
    sql,
    tenantId: row?.id ?? '',
    rest: await signIn(kind.connection),
    kubectl: (...args) => tools.kubectl(args),
    end: () => sql.end({ timeout: 5 }),
  }
}

/** The data of every Secret of the install and of all tenants, by where they stand; without helm's records, which grow. */
export async function allSecrets({ tools }: KindDrill): Promise<ReadonlyMap<string, string>> {
  type Secret = { metadata: { name: string; namespace: string }; data?: object; type?: string }
  const { items } = JSON.parse(await tools.kubectl(['get', 'secrets', '-A', '-o', 'json'])) as {
    items: Secret[]
  }
  const ours = items.filter(
    ({ metadata, type }) =>
      type !== 'helm.sh/release.v1' &&
      (metadata.namespace === NAMESPACE || metadata.namespace.startsWith('tenant-')),
  )
  return new Map(
    ours.map(({ metadata, data }) => [`${metadata.namespace}/${metadata.name}`, JSON.stringify(data)]),
  )
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
