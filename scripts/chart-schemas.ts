import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { tenantCrd } from '../crds/src/index.ts'
import { readClusterConfig } from '../dev/src/cluster/config.ts'
import { requiredVersion } from '../dev/src/cluster/tool-modules.ts'

type Schema = { readonly [key: string]: unknown }
type Definitions = Readonly<Record<string, Schema>>
type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string }

const KUBERNETES = 'k8s.io/kubernetes'
const MODULE = resolve(import.meta.dirname, '../dev/cluster/tools/kubernetes')
const REF = '#/definitions/'
/** Raised when what is written below changes. */
const FORMAT = 2

/** How kubeconform finds the file of an object; the names below are made of the same parts. */
export const schemaLocation = (folder: string): string =>
  `${folder}/{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json`
/** Where there is no group, kubeconform takes the version for one. */
const fileName = ({ kind, group, version }: GroupVersionKind): string =>
  `${kind.toLowerCase()}-${group === '' ? version : group}-${version}.json`

/**
 * The folder with a strict JSON schema for every kind of the pinned Kubernetes and for ours; written once into the tool
 * cache. They come out of the OpenAPI that Kubernetes itself carries: nothing is fetched but its module.
 */
export async function ensureSchemas(progress: (line: string) => void): Promise<string> {
  const { cacheDir, childEnv } = readClusterConfig()
  const version = requiredVersion(await readFile(join(MODULE, 'go.mod'), 'utf8'), KUBERNETES)
  const own = JSON.stringify(tenantCrd())
  const mark = createHash('sha256').update(`${FORMAT}${own}`).digest('hex').slice(0, 16)
  const folder = join(cacheDir, 'tools', `schemas-${version}-${mark}`)
  if (existsSync(folder)) return folder
  progress(`writing the schemas of Kubernetes ${version} into ${folder}`)
  const source = join(moduleFolder(childEnv), 'api/openapi-spec/swagger.json')
  const { definitions } = JSON.parse(await readFile(source, 'utf8')) as { definitions: Definitions }
  await mkdir(join(cacheDir, 'tools'), { recursive: true })
  const temporary = await mkdtemp(`${folder}.build-`)
  try {
    for (const [name, schema] of schemasOf(definitions))
      await writeFile(join(temporary, name), JSON.stringify(schema))
    for (const [name, schema] of ownSchemas(definitions))
      await writeFile(join(temporary, name), JSON.stringify(schema))
    await rename(temporary, folder).catch((error: unknown) => {
      // Somebody else has written the same in the meantime.
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return folder
}

/** Where Go keeps the pinned source; it downloads it when a cache of tools came without it. */
function moduleFolder(env: Readonly<Record<string, string | undefined>>): string {
  const { status, stdout, stderr, error } = spawnSync('go', ['mod', 'download', '-json', KUBERNETES], {
    cwd: MODULE,
    encoding: 'utf8',
    env: { ...env, GOWORK: 'off', GOFLAGS: '' },
  })
  if (error !== undefined || status !== 0)
    throw new Error(`the source of Kubernetes cannot be had from Go: ${error?.message ?? stderr}`)
  return (JSON.parse(stdout) as { Dir: string }).Dir
}

/** One schema for each kind that has a name, with all that it refers to. */
export function schemasOf(definitions: Definitions): Map<string, Schema> {
  const files = new Map<string, Schema>()
  for (const [name, definition] of Object.entries(definitions)) {
    for (const kind of kindsOf(definition)) {
      const reachable = [...reach(name, definitions)].map((each) => [
        each,
        strict(each, definitions[each] ?? {}),
      ])
      const schema = {
        ...strict(name, definition),
        definitions: Object.fromEntries(reachable) as Definitions,
      }
      files.set(fileName(kind), named(schema, kind))
    }
  }
  return files
}

/** The kinds that this project defines; their metadata is that of Kubernetes. */
function ownSchemas(definitions: Definitions): Map<string, Schema> {
  const crd = tenantCrd()
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
  const { group, names, versions } = crd.spec
  return new Map(
    versions.map(({ name: version, schema }) => {
      const { properties = {} } = schema.openAPIV3Schema
      const reachable = [...reach(meta, definitions), meta].map((each) => [
        each,
        strict(each, definitions[each] ?? {}),
      ])
      const own = strict('', {
        type: 'object',
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          ...properties,
          metadata: { $ref: `${REF}${meta}` },
        },
      })
      const kind = { group, version, kind: names.kind }
      return [
        fileName(kind),
        named({ ...own, definitions: Object.fromEntries(reachable) as Definitions }, kind),
      ]
    }),
  )
}

/** An object says its kind itself: nothing else fits. */
function named(schema: Schema, { group, version, kind }: GroupVersionKind): Schema {
  const apiVersion = group === '' ? version : `${group}/${version}`
  const properties = {
    ...(schema['properties'] as object),
    apiVersion: { enum: [apiVersion] },
    kind: { enum: [kind] },
  }
  const required = [
    ...new Set([...((schema['required'] as string[] | undefined) ?? []), 'apiVersion', 'kind']),
  ]
  return { ...schema, properties, required }
}

const kindsOf = (definition: Schema): readonly GroupVersionKind[] =>
  (definition['x-kubernetes-group-version-kind'] as GroupVersionKind[] | undefined) ?? []

/** Everything that a definition refers to, over any number of steps. */
function reach(name: string, definitions: Definitions): Set<string> {
  const found = new Set<string>()
  const open = [name]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [, target = ''] of JSON.stringify(definitions[next] ?? {}).matchAll(
      /"#\/definitions\/([^"]+)"/g,
    )) {
      if (found.has(target)) continue
      found.add(target)
      open.push(target)
    }
  }
  return found
}

/** What the API server accepts in more than one form. */
const EITHER: Readonly<Record<string, readonly string[]>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': ['string', 'number'],
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': ['string', 'integer'],
}

/** Refuses keys that a described object does not have; free-form objects stay free. */
function strict(name: string, schema: Schema): Schema {
  const either = EITHER[name]
  if (either !== undefined) return { type: either }
  return closed(schema) as Schema
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key]) => !key.startsWith('x-kubernetes-') && key !== 'description' && key !== 'default',
  )
  const { properties, nullable, ...rest } = Object.fromEntries(entries) as Record<string, unknown>
  const kept = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, closed(each)]))
  if (nullable === true && typeof kept['type'] === 'string') kept['type'] = [kept['type'], 'null']
  if (typeof properties !== 'object' || properties === null) return kept
  const fields = Object.entries(properties).map(([key, each]) => [key, closed(each)])
  return { ...kept, properties: Object.fromEntries(fields), additionalProperties: false }
}
