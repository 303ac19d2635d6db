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
  readonly env?: {
    name: string
    value?: string
    valueFrom?: { fieldRef?: { fieldPath: string }; secretKeyRef?: { name: string; key: string } }
  }[]
  readonly ports: { name: string; containerPort: number }[]
  readonly resources: { requests: Record<string, string>; limits: Record<string, string> }
  readonly securityContext: Record<string, unknown>
  readonly volumeMounts?: { name: string; mountPath: string; subPath?: string }[]
} & Record<`${string}Probe`, { httpGet: { path: string; port: string } }>
export type PodTemplate = {
  readonly metadata: { labels: Record<string, string> }
  readonly spec: {
    readonly containers: Container[]
    readonly initContainers?: Container[]
    readonly volumes: {
      name: string
      secret?: { secretName: string; items?: { key: string; path: string }[] }
      projected?: { sources: { secret: { name: string; items?: { key: string; path: string }[] } }[] }
    }[]
    readonly securityContext: Record<string, unknown>
    readonly nodeSelector?: Record<string, string>
    readonly serviceAccountName: string
    readonly terminationGracePeriodSeconds: number
    readonly automountServiceAccountToken: boolean
  }
}
type WorkloadSpec = {
  replicas: number
  selector: { matchLabels: Record<string, string> }
  template: PodTemplate
}
export type Deployment = Omit<Manifest, 'spec'> & {
  readonly spec: WorkloadSpec & { strategy?: { type: string } }
}
export type Workload = Omit<Manifest, 'spec'> & {
  readonly spec: WorkloadSpec & {
    strategy?: { type: string }
    volumeClaimTemplates?: { spec: { resources: { requests: { storage: string } } } }[]
  }
}

const { helm } = await ensureTools()
const COMPONENT = 'app.kubernetes.io/component'
export const componentOf = ({ metadata }: Pick<Manifest, 'metadata'>): string =>
  metadata.labels[COMPONENT] ?? ''

export const runHelm = (args: readonly string[], input = '') =>
  spawnSync(helm, args, { input, encoding: 'utf8', env: { HOME: '/nonexistent', PATH: '' } })

/** The value sets of the chart's `ci` folder, by file name. */
export const ciValues: readonly (readonly [string, Values])[] = readdirSync(`${CHART}/ci`).map((file) => [
  file,
  parse(readFileSync(`${CHART}/ci/${file}`, 'utf8')) as Values,
])

/** What `helm template` writes, or why it does not. */
export function render(
  values: string | Values,
  chart = CHART,
  more: readonly string[] = [],
): { text: string; error: string } {
  const input = typeof values === 'string' ? values : JSON.stringify(values)
  const args = ['template', 'service-tenant', chart, '--namespace', 'tenant-acme', '--values', '-']
  const { status, stdout, stderr } = runHelm([...args, '--kube-version', '1.36.0', ...more], input)
  return status === 0 ? { text: stdout, error: '' } : { text: '', error: stderr || 'helm failed' }
}

export function manifests(values: string | Values, chart = CHART, more: readonly string[] = []): Manifest[] {
  const { text, error } = render(values, chart, more)
  if (error !== '') throw new Error(error)
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** Everything of a chart that makes pods. */
export const workloadsOf = (all: readonly Manifest[]): Workload[] =>
  all.filter(({ kind }) =>
    ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'].includes(kind),
  ) as unknown as Workload[]

export const deploymentsOf = (all: readonly Manifest[]): Deployment[] =>
  all.filter(({ kind }) => kind === 'Deployment') as unknown as Deployment[]
