import { readFile } from 'node:fs/promises'
import { GUIDE_TENANT, NAMESPACE, type KindWorld } from '@service/dev'
import { worldFile } from '../config.ts'
import type { KubeObject } from '../everywhere.ts'
import type { World } from '../harness.ts'

export const readWorld = async (): Promise<KindWorld> =>
  JSON.parse(await readFile(worldFile() ?? '', 'utf8')) as KindWorld

const NAMESPACES = [NAMESPACE, `tenant-${GUIDE_TENANT}`]

/** The data of all Secrets of the install and of the guide's tenant, by where they stand; without helm's records, which grow. */
export async function secretsOf(world: World): Promise<Readonly<Record<string, string>>> {
  const all: Record<string, string> = {}
  for (const namespace of NAMESPACES) {
    const { items } = JSON.parse(await world.kubectl('get', 'secrets', '-n', namespace, '-o', 'json')) as {
      items: KubeObject[]
    }
    for (const { metadata, type, data } of items)
      if (type !== 'helm.sh/release.v1') all[`${namespace}/${metadata.name}`] = JSON.stringify(data)
  }
  return all
}

type Pod = {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] }
}

export type TenantPod = { readonly pod: string; readonly restarts: readonly number[] }

/** The pods of all tenants: another uid is another pod. */
export async function tenantPods(world: World): Promise<TenantPod[]> {
  const text = await world.kubectl(
    'get',
    'pods',
    '-A',
    '-l',
    'app.kubernetes.io/instance=service-tenant',
    '-o',
    'json',
  )
  return (JSON.parse(text) as { items: Pod[] }).items
    .map(({ metadata: { name, uid }, status: { containerStatuses = [] } }) => ({
      pod: `${name} ${uid}`,
      restarts: containerStatuses.map(({ restartCount }) => restartCount),
    }))
    .toSorted((a, b) => a.pod.localeCompare(b.pod))
}
