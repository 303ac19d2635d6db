import { podField } from './pod-spec.ts'
import { StartProblem } from './types.ts'
import type { Lookup, PodFacts } from './environment.ts'
import type { DownwardItem, KeyToPath, Projection, Reference, Volume } from './types.ts'

export interface VolumeFile {
  data: Buffer
  mode: number
}

/** Path inside the volume -> content. */
export type VolumeFiles = Map<string, VolumeFile>

export type TokenSource = (audience: string | undefined, expirationSeconds: number) => Promise<string>

export interface FileSources extends PodFacts {
  lookup: Lookup
  token: TokenSource
}

const DEFAULT_MODE = 0o644
const DEFAULT_TOKEN_SECONDS = 3607

/** What a volume holds now; undefined for an emptyDir, which belongs to the pod. Rejects with StartProblem. */
export async function volumeFiles(volume: Volume, sources: FileSources): Promise<VolumeFiles | undefined> {
  if (volume.emptyDir !== undefined) return undefined
  const { projections, mode } = asProjections(volume)
  const files: VolumeFiles = new Map()
  for (const projection of projections) await addProjection(files, projection, mode, sources)
  return files
}

/** The names of Secrets and ConfigMaps whose change must be seen in the volume. */
export function volumeReferences(volume: Volume): Array<{ kind: 'secret' | 'configMap'; name: string }> {
  return asProjections(volume).projections.flatMap(({ secret, configMap }) => [
    ...(secret === undefined ? [] : [{ kind: 'secret' as const, name: secret.name }]),
    ...(configMap === undefined ? [] : [{ kind: 'configMap' as const, name: configMap.name }]),
  ])
}

/** Every other kind of volume is a projected one with a single source. */
function asProjections(volume: Volume): { projections: readonly Projection[]; mode: number } {
  const { secret, configMap, downwardAPI, projected } = volume
  if (secret !== undefined) {
    const { secretName, defaultMode, ...rest } = secret
    return { projections: [{ secret: { name: secretName, ...rest } }], mode: defaultMode ?? DEFAULT_MODE }
  }
  if (configMap !== undefined)
    return { projections: [{ configMap }], mode: configMap.defaultMode ?? DEFAULT_MODE }
  if (downwardAPI !== undefined) {
    return { projections: [{ downwardAPI }], mode: downwardAPI.defaultMode ?? DEFAULT_MODE }
  }
  return { projections: projected?.sources ?? [], mode: projected?.defaultMode ?? DEFAULT_MODE }
}

async function addProjection(
  files: VolumeFiles,
  projection: Projection,
  mode: number,
  sources: FileSources,
): Promise<void> {
  const { secret, configMap, downwardAPI, serviceAccountToken } = projection
  if (secret !== undefined) await addKeys(files, 'secret', secret, mode, sources.lookup)
  if (configMap !== undefined) await addKeys(files, 'configMap', configMap, mode, sources.lookup)
  for (const item of downwardAPI?.items ?? []) addField(files, item, mode, sources)
  if (serviceAccountToken !== undefined) {
    const { audience, expirationSeconds, path } = serviceAccountToken
    const token = await sources.token(audience, expirationSeconds ?? DEFAULT_TOKEN_SECONDS)
    files.set(path, { data: Buffer.from(token), mode })
  }
}

async function addKeys(
  files: VolumeFiles,
  kind: 'secret' | 'configMap',
  reference: Reference & { items?: KeyToPath[] },
  mode: number,
  lookup: Lookup,
): Promise<void> {
  const data = await lookup(kind, reference.name)
  if (data === null) {
    if (reference.optional === true) return
    throw mountProblem(`${kind} "${reference.name}" not found`)
  }
  const items: readonly KeyToPath[] = reference.items ?? Object.keys(data).map((key) => ({ key, path: key }))
  for (const item of items) {
    const value = Object.hasOwn(data, item.key) ? data[item.key] : undefined
    if (value !== undefined) files.set(item.path, { data: value, mode: item.mode ?? mode })
    else if (reference.optional !== true) {
      throw mountProblem(`${kind} "${reference.name}" has no key "${item.key}"`)
    }
  }
}

function addField(files: VolumeFiles, item: DownwardItem, mode: number, facts: PodFacts): void {
  const path = item.fieldRef?.fieldPath
  const value = path === undefined ? undefined : podField(facts.pod, facts.podIp, facts.hostIp, path)
  if (value === undefined) throw mountProblem(`the source of ${item.path} is not known to the local node`)
  files.set(item.path, { data: Buffer.from(value), mode: item.mode ?? mode })
}

function mountProblem(message: string): StartProblem {
  return new StartProblem('ContainerCreating', 'FailedMount', message)
}
