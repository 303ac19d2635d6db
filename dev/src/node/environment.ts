import { podField } from './pod-spec.ts'
import { StartProblem } from './types.ts'
import type { Container, EnvVar, Pod, Reference } from './types.ts'

/** Keys and values of a Secret or ConfigMap; null when it does not exist. */
export type Lookup = (kind: 'secret' | 'configMap', name: string) => Promise<Record<string, Buffer> | null>

export interface PodFacts {
  pod: Pod
  podIp: string
  hostIp: string
}

/** A mount path of the container and the folder that stands for it. */
export interface MountedPath {
  mountPath: string
  folder: string
}

/**
 * The environment that a container asks for, in the order of the API: envFrom, then env, where `$(NAME)`
 * refers to what came before. Rejects with StartProblem for what is missing and not optional.
 */
export async function resolveEnvironment(
  container: Container,
  facts: PodFacts,
  lookup: Lookup,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {}
  for (const source of container.envFrom ?? []) {
    const kind = source.secretRef === undefined ? 'configMap' : 'secret'
    const reference = source.secretRef ?? source.configMapRef
    if (reference === undefined) continue
    const data = await required(lookup, kind, reference)
    for (const [key, value] of Object.entries(data))
      env[`${source.prefix ?? ''}${key}`] = value.toString('utf8')
  }
  for (const variable of container.env ?? []) {
    const value =
      variable.valueFrom === undefined
        ? expand(variable.value ?? '', env)
        : await valueFrom(variable, facts, lookup)
    if (value !== undefined) env[variable.name] = value
  }
  return env
}

async function valueFrom(variable: EnvVar, facts: PodFacts, lookup: Lookup): Promise<string | undefined> {
  const { fieldRef, secretKeyRef, configMapKeyRef } = variable.valueFrom ?? {}
  if (fieldRef !== undefined) {
    const value = podField(facts.pod, facts.podIp, facts.hostIp, fieldRef.fieldPath)
    if (value === undefined)
      throw configProblem(`the field ${fieldRef.fieldPath} is not known to the local node`)
    return value
  }
  const kind = secretKeyRef === undefined ? 'configMap' : 'secret'
  const reference = secretKeyRef ?? configMapKeyRef
  if (reference === undefined)
    throw configProblem(`the source of ${variable.name} is not known to the local node`)
  const data = await required(lookup, kind, reference)
  const value = Object.hasOwn(data, reference.key) ? data[reference.key] : undefined
  if (value === undefined && reference.optional !== true) {
    throw configProblem(`${kind} "${reference.name}" has no key "${reference.key}"`)
  }
  return value?.toString('utf8')
}

async function required(
  lookup: Lookup,
  kind: 'secret' | 'configMap',
  reference: Reference,
): Promise<Record<string, Buffer>> {
  const data = await lookup(kind, reference.name)
  if (data === null && reference.optional !== true)
    throw configProblem(`${kind} "${reference.name}" not found`)
  return data ?? {}
}

function configProblem(message: string): StartProblem {
  return new StartProblem('CreateContainerConfigError', 'Failed', message)
}

/** Replaces `$(NAME)` by the variable if it is known; `$$(NAME)` stays as the text `$(NAME)`. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, inner: string, name: string | undefined) => {
    if (inner === '$') return '$'
    return name !== undefined && Object.hasOwn(env, name) ? (env[name] ?? whole) : whole
  })
}

/** Without mounts, a value that begins with a mount path must name the folder behind it instead. */
export function rewritePath(value: string, mounts: readonly MountedPath[]): string {
  let best: MountedPath | undefined
  for (const mount of mounts) {
    const within = value === mount.mountPath || value.startsWith(`${mount.mountPath}/`)
    if (within && mount.mountPath.length > (best?.mountPath.length ?? 0)) best = mount
  }
  return best === undefined ? value : best.folder + value.slice(best.mountPath.length)
}
