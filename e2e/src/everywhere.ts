import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import postgres from 'postgres'
import type { World } from './harness.ts'

/** A piece of text and where it stands. */
export type Place = { readonly name: string; readonly text: string }
type Json = Readonly<Record<string, unknown>>

/** Where each of the secrets stands, as `name of the secret: place`, without doubles, in order. */
export function sightings(places: readonly Place[], secrets: ReadonlyMap<string, string>): string[] {
  const seen = new Set<string>()
  for (const [name, value] of secrets) {
    const forms = [value, Buffer.from(value).toString('base64'), Buffer.from(value).toString('hex')]
    for (const place of places)
      if (forms.some((form) => place.text.includes(form))) seen.add(`${name}: ${place.name}`)
  }
  return [...seen].toSorted()
}

/** Every column of every row, also of tables that no role of the service may read. */
export async function databasePlaces(adminUrl: string): Promise<Place[]> {
  const sql = postgres(adminUrl, { max: 1, fetch_types: false, onnotice: () => undefined })
  const undo = new Error('undo')
  const places: Place[] = []
  try {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind in ('r', 'p')`
    for (const { name } of tables)
      await sql
        .begin(async (tx) => {
          // The owner is subject to the policies, too; taken back at once.
          await tx`alter table ${tx(name)} no force row level security`
          const rows = await tx<{ row: Json }[]>`select to_jsonb(t) as row from ${tx(name)} as t`
          for (const { row } of rows)
            for (const [column, value] of Object.entries(row))
              if (value !== null)
                places.push({ name: `database ${name}.${column}`, text: JSON.stringify(value) })
          throw undo
        })
        .catch((error: unknown) => {
          if (error !== undo) throw error
        })
  } finally {
    await sql.end({ timeout: 5 })
  }
  return places
}

/** Every object of every kind. */
export async function allObjects(world: World): Promise<KubeObject[]> {
  const kinds = (await world.kubectl('api-resources', '--verbs=list', '-o', 'name')).trim().split('\n')
  const text = await world.kubectl('get', kinds.join(','), '-A', '-o', 'json')
  return (JSON.parse(text) as { items: KubeObject[] }).items
}

/** The same; Secrets by key, and what helm has packed into them unpacked. */
export async function clusterPlaces(world: World): Promise<Place[]> {
  return (await allObjects(world)).flatMap((item) => {
    const { kind, metadata, data, ...rest } = item
    const name = `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
    if (kind !== 'Secret') return [{ name, text: JSON.stringify(item) }]
    const keys = Object.entries(data ?? {}).map(([key, value]) => ({
      name: `${name} ${key}`,
      text: plainText(value, item.type === 'helm.sh/release.v1'),
    }))
    return [...keys, { name: `${name} beside its data`, text: JSON.stringify({ metadata, ...rest }) }]
  })
}
export type KubeObject = {
  readonly kind: string
  readonly type?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: unknown
}

function plainText(value: string, isRelease: boolean): string {
  const plain = Buffer.from(value, 'base64')
  if (!isRelease) return plain.toString()
  const record = gunzipSync(Buffer.from(plain.toString(), 'base64')).toString()
  // The chart's files stand in the record once more as base64.
  return record.replaceAll(/"data":"([A-Za-z0-9+/=]+)"/g, (_, data: string) =>
    Buffer.from(data, 'base64').toString(),
  )
}

/** Every file below the folders; what processes have written. */
export async function filePlaces(folders: readonly string[]): Promise<Place[]> {
  const places: Place[] = []
  for (const folder of folders)
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && entry.name.endsWith('.log'))
        places.push({
          name: `log ${entry.name}`,
          text: await readFile(join(entry.parentPath, entry.name), 'utf8'),
        })
  return places
}
