import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ensureTools } from '@service/dev'
import { parse, parseAllDocuments } from 'yaml'

export const CHART = fileURLToPath(new URL('../../../charts/service-system', import.meta.url))
export const RELEASE = 'service-system'

export type Values = Readonly<Record<string, unknown>>
export type Rule = {
  readonly apiGroups: string[]
  readonly resources: string[]
  readonly resourceNames?: string[]
  readonly verbs: string[]
}
export type Container = {
  readonly name: string
  readonly args?: string[]
  readonly env?: { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[]
  readonly resources: { readonly requests: object; readonly limits: object }
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly volumeMounts: { readonly name: string; readonly mountPath: string }[]
}
type Source = {
  readonly secret: {
    readonly name: string
    readonly items: { readonly key: string; readonly path: string }[]
  }
}
export type PodSpec = {
  readonly initContainers?: Container[]
  readonly containers: Container[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly serviceAccountName?: string
  readonly terminationGracePeriodSeconds?: number
  readonly volumes?: { readonly name: string; readonly projected?: { readonly sources: Source[] } }[]
}
export type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly rules?: Rule[]
  readonly spec?: { readonly template?: { readonly spec: PodSpec } } & Partial<PodSpec>
}

const { helm } = await ensureTools()
export const runHelm = (args: readonly string[], options: { input?: string } = {}) =>
  spawnSync(helm, args, {
    input: options.input ?? '',
    encoding: 'utf8',
    env: { HOME: '/nonexistent', PATH: '' },
  })

/** The value sets of the chart's `ci` folder, by file name. */
export const ciValues: readonly (readonly [string, Values])[] = readdirSync(`${CHART}/ci`).map((file) => [
  file,
  parse(readFileSync(`${CHART}/ci/${file}`, 'utf8')) as Values,
])
export const valuesOf = (file: string): Values =>
  ciValues.find(([name]) => name === `${file}-values.yaml`)?.[1] ?? {}

const rendered = new Map<string, { text: string; error: string }>()

/** What `helm template` writes, or why it does not; the same question is asked once, unless `again`. */
export function render(
  values: Values,
  options: { release?: string; namespace?: string; args?: readonly string[]; again?: boolean } = {},
): { text: string; error: string } {
  const mark = JSON.stringify([values, options.release, options.namespace, options.args])
  const known = options.again === true ? undefined : rendered.get(mark)
  if (known !== undefined) return known
  const { release = RELEASE, namespace = 'service-system', args = [] } = options
  const call = ['template', release, CHART, '--namespace', namespace, '--values', '-', ...args]
  const { status, stdout, stderr } = runHelm([...call, '--kube-version', '1.36.0'], {
    input: JSON.stringify(values),
  })
  const result = status === 0 ? { text: stdout, error: '' } : { text: '', error: stderr || 'helm failed' }
  rendered.set(mark, result)
  return result
}

export function manifests(values: Values, options: Parameters<typeof render>[1] = {}): Manifest[] {
  const { text, error } = render(values, options)
  if (error !== '') throw new Error(error)
  return parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as Manifest | null
    return object === null ? [] : [object]
  })
}

export const podOf = ({ kind, spec }: Manifest): PodSpec | undefined =>
  kind === 'Pod' ? (spec as PodSpec) : spec?.template?.spec
export const allContainers = (pod: PodSpec): Container[] => [...(pod.initContainers ?? []), ...pod.containers]

/** The environment of a container, as far as it is plain text. */
export const environmentOf = (container: Container): Record<string, string> =>
  Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value ?? '']))

/** The paths at which a container finds the keys of Secrets. */
export function secretFiles(
  pod: PodSpec,
  container: Container,
): Map<string, { secret: string; key: string }> {
  const files = new Map<string, { secret: string; key: string }>()
  for (const { name, mountPath } of container.volumeMounts) {
    const sources = (pod.volumes ?? []).find((volume) => volume.name === name)?.projected?.sources ?? []
    for (const { secret } of sources)
      for (const { key, path } of secret.items)
        files.set(`${mountPath}/${path}`, { secret: secret.name, key })
  }
  return files
}
