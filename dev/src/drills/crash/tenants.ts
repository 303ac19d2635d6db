import { waitUntil } from '../../wait-until.ts'
import { materialSecretName, namespaceOf } from '@service/domain'
import type { Tenant, TenantDetail } from '@service/wire'
import { RestError } from '../../system/rest.ts'
import type { CrashWorld } from './world.ts'

/** What it takes to look at tenants. */
export type TenantWorld = Pick<CrashWorld, 'rest' | 'sql' | 'kubectl'>

export const until = <T>(
  what: string,
  attempt: () => Promise<T | undefined | false>,
  timeoutMs = 120_000,
): Promise<T> => waitUntil(what, attempt, { timeoutMs, pauseMs: 50 })

/** As a person with patience: asks again after each dropped connection, and looks whether it was done after all. */
export function create(world: TenantWorld, slug: string): Promise<string> {
  return until(`tenant ${slug} to be accepted`, async () => {
    try {
      const body = { slug, display_name: `Tenant ${slug}`, profile: 'small-dev' }
      return (await world.rest.call<Tenant>('POST', '/api/mssp/tenants', body)).id
    } catch (error) {
      if (!(error instanceof RestError) || error.status !== 409) throw error
      const [row] = await world.sql<{ id: string }[]>`select id from tenants where slug = ${slug}`
      return row?.id
    }
  })
}

export const read = (world: TenantWorld, id: string): Promise<TenantDetail> =>
  world.rest.call('GET', `/api/mssp/tenants/${id}`)

export const untilActive = (world: TenantWorld, slug: string, id: string): Promise<true> =>
  until(`tenant ${slug} to be active`, async () => (await read(world, id)).state === 'active')

/** Every lifecycle row, as `kind step from>to`. */
export async function historyOf(world: TenantWorld, id: string): Promise<string[]> {
  type Row = { kind: string; from_state: string | null; to_state: string | null; step: string | null }
  const rows = await world.sql<Row[]>`
    select kind, from_state, to_state, details ->> 'step' as step from tenant_lifecycle_events
    where tenant_id = ${id} order by journal_seq nulls first, at`
  return rows.map(({ kind, step, from_state: from, to_state: to }) => {
    // What was asked for does not belong to a step, although it names the one that had failed.
    const shown = kind === 'retry.requested' ? null : step
    const change = from === to ? null : `${from ?? 'none'}>${to}`
    return [kind, shown, change].filter((part) => part !== null).join(' ')
  })
}

/** The data of all Secrets of a tenant, by where they stand; without helm's records, which grow. */
export async function secretsOf(
  world: TenantWorld,
  slug: string,
  id: string,
): Promise<ReadonlyMap<string, string>> {
  type Secret = { metadata: { name: string; namespace: string }; data?: object; type?: string }
  const own = ['-n', namespaceOf(slug)]
  const texts = await Promise.all([
    world.kubectl('get', 'secrets', ...own, '-o', 'json'),
    world.kubectl('get', 'secrets', '-n', 'service-system', '-o', 'json'),
  ])
  const items = texts.flatMap((text) => (JSON.parse(text) as { items: Secret[] }).items)
  const belongs = ({ metadata, type }: Secret): boolean =>
    type !== 'helm.sh/release.v1' &&
    (metadata.namespace === namespaceOf(slug) || metadata.name.startsWith(materialSecretName(id)))
  return new Map(
    items
      .filter(belongs)
      .map(({ metadata, data }) => [`${metadata.namespace}/${metadata.name}`, JSON.stringify(data)] as const),
  )
}

/** Secrets that were there before and are not the same now. */
export const changedSecrets = (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] => [...before].flatMap(([name, data]) => (after.get(name) === data ? [] : [name]))
