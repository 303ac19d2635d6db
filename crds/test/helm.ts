import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { ensureTools } from '../../dev/src/cluster/tools.ts'

export const CHART = fileURLToPath(new URL('../../charts/service-tenant', import.meta.url))

export type Values = Readonly<Record<string, unknown>>
export type Manifest = {
  readonly kind: string
  readonly metadata: { name: string; namespace?: string; labels: Record<string, string> }
  readonly spec: Record<string, never>
  readonly automountServiceAccountToken?: boolean
}
export type Container = {
  readonly name: string
  readonly image: string
  readonly env: {
    name: string
    value?: string
    valueFrom?: { fieldRef?: { fieldPath: string }; secretKeyRef?: { name: string; key: string } }
  }[]
  readonly ports: { name: string; containerPort: number }[]
  readonly resources: { requests: Record<string, string>; limits: Record<string, string> }
  readonly securityContext: Record<string, unknown>
  readonly volumeMounts: { name: string; mountPath: string; subPath?: string }[]
} & Record<`${string}Probe`, { httpGet: { path: string; port: string } }>
export type PodTemplate = {
  readonly metadata: { labels: Record<string, string> }
  readonly spec: {
    readonly containers: Container[]
    readonly volumes: {
      name: string
      secret?: { secretName: string; items: { key: string; path: string }[] }
    }[]
    readonly securityContext: Record<string, unknown>
    readonly nodeSelector?: Record<string, string>
    readonly serviceAccountName: string
    readonly terminationGracePeriodSeconds: number
    readonly automountServiceAccountToken: boolean
  }
}
export type Deployment = Omit<Manifest, 'spec'> & {
  readonly spec: {
    replicas: number
    strategy: { type: string }
    selector: { matchLabels: Record<string, string> }
    template: PodTemplate
  }
}

const { helm } = await ensureTools()

export const runHelm = (args: readonly string[], input = '') =>
  spawnSync(helm, args, { input, encoding: 'utf8', env: { HOME: '/nonexistent', PATH: '' } })

/** The value sets of the chart's `ci` folder, by file name. */
export const ciValues: readonly (readonly [string, Values])[] = readdirSync(`${CHART}/ci`).map((file) => [
  file,
  parse(readFileSync(`${CHART}/ci/${file}`, 'utf8')) as Values,
])

/** What `helm template` writes, or why it does not. */
export function render(values: string | Values, chart = CHART): { text: string; error: string } {
  const input = typeof values === 'string' ? values : JSON.stringify(values)
  const args = ['template', 'service-tenant', chart, '--namespace', 'tenant-acme', '--values', '-']
  const { status, stdout, stderr } = runHelm([...args, '--kube-version', '1.36.0'], input)
  return status === 0 ? { text: stdout, error: '' } : { text: '', error: stderr || 'helm failed' }
}

export function manifests(values: string | Values, chart = CHART): Manifest[] {
  const { text, error } = render(values, chart)
  if (error !== '') throw new Error(error)
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

export const deploymentsOf = (all: readonly Manifest[]): Deployment[] =>
  all.filter(({ kind }) => kind === 'Deployment') as unknown as Deployment[]
