import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ToolName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'helm'
  | 'kwok'
  | 'kubeconform'
  | 'kube-score'

/** A Go module below `dev/cluster/tools` and the programs that are built from it. */
export interface ToolModule {
  folder: string
  /** The module whose version in go.mod is the version of the programs. */
  source: string
  /** Program name -> its main package. */
  programs: Readonly<Partial<Record<ToolName, string>>>
  /** Linker settings that make the program report its true version. */
  versionFlags: (version: string) => string[]
}

const KUBERNETES = 'k8s.io/kubernetes'

const HELM: ToolModule = {
  folder: 'helm',
  source: 'helm.sh/helm/v4',
  programs: { helm: 'helm.sh/helm/v4/cmd/helm' },
  versionFlags: (version) => [`-X helm.sh/helm/v4/internal/version.version=${version}`],
}

/** What the embedded cluster and its operator run. */
export const TOOL_MODULES: readonly ToolModule[] = [
  {
    folder: 'etcd',
    source: 'go.etcd.io/etcd/server/v3',
    programs: { etcd: 'go.etcd.io/etcd/server/v3' },
    versionFlags: () => [],
  },
  {
    folder: 'kubernetes',
    source: KUBERNETES,
    programs: {
      'kube-apiserver': `${KUBERNETES}/cmd/kube-apiserver`,
      'kube-controller-manager': `${KUBERNETES}/cmd/kube-controller-manager`,
      'kube-scheduler': `${KUBERNETES}/cmd/kube-scheduler`,
      kubectl: `${KUBERNETES}/cmd/kubectl`,
    },
    versionFlags: kubernetesVersionFlags,
  },
  HELM,
  {
    folder: 'kwok',
    source: 'sigs.k8s.io/kwok',
    programs: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
    versionFlags: (version) => [`-X sigs.k8s.io/kwok/pkg/consts.Version=${version}`],
  },
]

/** What charts are checked with; nothing that runs needs them. */
export const CHART_TOOL_MODULES: readonly ToolModule[] = [
  HELM,
  {
    folder: 'kubeconform',
    source: 'github.com/yannh/kubeconform',
    programs: { kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform' },
    versionFlags: (version) => [`-X main.version=${version}`],
  },
  {
    folder: 'kube-score',
    source: 'github.com/zegl/kube-score',
    programs: { 'kube-score': 'github.com/zegl/kube-score/cmd/kube-score' },
    versionFlags: (version) => [`-X main.version=${version}`],
  },
]

function kubernetesVersionFlags(version: string): string[] {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.')
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((where) =>
    Object.entries(values).map(([name, value]) => `-X ${where}.${name}=${value}`),
  )
}

/** What must be run to build a module, and the key under which the result is cached. */
export interface BuildPlan {
  module: ToolModule
  directory: string
  version: string
  goVersion: string
  flags: readonly string[]
  key: string
}

/** Reads a module's go.mod and go.sum; the key changes with either, with the flags and with the platform. */
export async function planBuild(toolsDirectory: string, module: ToolModule): Promise<BuildPlan> {
  const directory = join(toolsDirectory, module.folder)
  const goMod = await readFile(join(directory, 'go.mod'), 'utf8')
  const goSum = await readFile(join(directory, 'go.sum'), 'utf8')
  const version = requiredVersion(goMod, module.source)
  const goVersion = /^go (\S+)$/m.exec(goMod)?.[1] ?? '1.26.0'
  const flags = ['-trimpath', '-ldflags', ['-s', '-w', ...module.versionFlags(version)].join(' ')]
  const inputs = [goMod, goSum, flags.join(' '), Object.values(module.programs).join(' ')]
  inputs.push(process.platform, process.arch)
  const hash = createHash('sha256')
  for (const input of inputs) hash.update(`${input.length}:`).update(input)
  const key = `${module.folder}-${version}-${hash.digest('hex').slice(0, 16)}`
  return { module, directory, version, goVersion, flags, key }
}

/** The Go that builds every module, as major.minor: what a developer is told to install. */
export function newestGo(plans: readonly BuildPlan[]): string {
  const versions = plans.map((plan) => plan.goVersion.split('.').slice(0, 2).join('.'))
  return versions.toSorted((a, b) => minorOf(b) - minorOf(a))[0] ?? ''
}

/** A number that orders Go versions by major and minor. */
export function minorOf(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major * 1000 + minor
}

/** The version that go.mod requires of a module. */
export function requiredVersion(goMod: string, source: string): string {
  for (const line of goMod.split('\n')) {
    const [path, version, next] = line
      .trim()
      .replace(/^require\s+/, '')
      .split(/\s+/)
    if (path === source && version?.startsWith('v') === true && next !== '=>') return version
  }
  throw new Error(`go.mod requires no version of ${source}`)
}
