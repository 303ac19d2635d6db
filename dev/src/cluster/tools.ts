import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureCached, type Progress } from '../cached.ts'
import { readClusterConfig } from './config.ts'
import type { ClusterConfig } from './config.ts'
import { CHART_TOOL_MODULES, minorOf, newestGo, planBuild, TOOL_MODULES } from './tool-modules.ts'
import type { BuildPlan, ToolModule, ToolName } from './tool-modules.ts'

/** Absolute paths of the programs that the embedded cluster is made of. */
export interface Tools {
  etcd: string
  kubeApiserver: string
  kubeControllerManager: string
  kubeScheduler: string
  helm: string
  kubectl: string
  kwok: string
}

/** Absolute paths of the programs that charts are checked with. */
export interface ChartTools {
  helm: string
  kubeconform: string
  kubeScore: string
}

const TOOLS_DIRECTORY = fileURLToPath(new URL('../../cluster/tools', import.meta.url))
const HEARTBEAT_MS = 5_000

export type ToolOptions = { progress?: Progress; config?: ClusterConfig }

/**
 * Finds the tools or builds what is missing, once for each version (cold about eight minutes on two cores).
 * Rejects with one sentence that names what is missing (Go, a build that fails and its log).
 */
export async function ensureTools(options: ToolOptions = {}): Promise<Tools> {
  const path = await ensureModules(TOOL_MODULES, options)
  return {
    etcd: path('etcd'),
    kubeApiserver: path('kube-apiserver'),
    kubeControllerManager: path('kube-controller-manager'),
    kubeScheduler: path('kube-scheduler'),
    helm: path('helm'),
    kubectl: path('kubectl'),
    kwok: path('kwok'),
  }
}

/** The same for the tools that charts are checked with (cold some minutes beside helm). */
export async function ensureChartTools(options: ToolOptions = {}): Promise<ChartTools> {
  const path = await ensureModules(CHART_TOOL_MODULES, options)
  return { helm: path('helm'), kubeconform: path('kubeconform'), kubeScore: path('kube-score') }
}

async function ensureModules(
  modules: readonly ToolModule[],
  options: ToolOptions,
): Promise<(name: ToolName) => string> {
  const config = options.config ?? readClusterConfig()
  const progress = options.progress ?? (() => undefined)
  const given = await givenTools(config)
  const paths = new Map<ToolName, string>()
  const plans = await Promise.all(modules.map((module) => planBuild(TOOLS_DIRECTORY, module)))
  for (const plan of plans) {
    const wanted = Object.keys(plan.module.programs) as ToolName[]
    if (wanted.every((name) => given.has(name))) continue
    for (const [name, path] of await ensureModule(plan, newestGo(plans), config, progress))
      paths.set(name, path)
  }
  for (const [name, path] of given) paths.set(name, path)
  return (name) => {
    const found = paths.get(name)
    if (found === undefined) throw new Error(`no tool ${name} was built`)
    return found
  }
}

async function ensureModule(
  plan: BuildPlan,
  goVersion: string,
  config: ClusterConfig,
  progress: Progress,
): Promise<Array<[ToolName, string]>> {
  const { module } = plan
  const directory = join(config.cacheDir, 'tools', plan.key)
  const programs = Object.keys(module.programs) as ToolName[]
  const found = programs.map((name): [ToolName, string] => [name, join(directory, name)])
  await ensureCached(directory, {
    name: `build of ${module.folder}`,
    isThere: () => allExecutable(found),
    make: (temporary) => build(plan, goVersion, temporary, config, progress),
    progress,
  })
  return found
}

/** What lies ready in KUBEBUILDER_ASSETS: the two programs that its makers ship. */
async function givenTools(config: ClusterConfig): Promise<Map<ToolName, string>> {
  const given = new Map<ToolName, string>()
  if (config.kubebuilderAssets === undefined) return given
  for (const name of ['etcd', 'kube-apiserver'] as const) {
    const path = join(config.kubebuilderAssets, name)
    if (await isExecutable(path)) given.set(name, path)
  }
  return given
}

async function build(
  plan: BuildPlan,
  goVersion: string,
  folder: string,
  config: ClusterConfig,
  progress: Progress,
): Promise<void> {
  requireGo(plan, goVersion, config)
  const packages = Object.entries(plan.module.programs)
  const [only] = packages
  // With several programs `-o` must be a folder; a single one is named, since its package is not.
  const output = packages.length === 1 && only ? join(folder, only[0]) : `${folder}/`
  await runGo(
    plan,
    ['build', '-v', ...plan.flags, '-o', output, ...packages.map(([, path]) => path)],
    config,
    progress,
  )
}

function requireGo(plan: BuildPlan, needed: string, config: ClusterConfig): void {
  const hint = `install Go ${needed} or newer`
  // Inside the module, so that a Go that may fetch the toolchain the module asks for does so.
  const result = spawnSync('go', ['env', 'GOVERSION'], {
    encoding: 'utf8',
    cwd: plan.directory,
    env: { ...config.childEnv },
  })
  if (result.error !== undefined) {
    throw new Error(
      `The embedded cluster has to build ${plan.module.folder} ${plan.version} and finds no Go: ${hint}.`,
    )
  }
  if (result.status !== 0) {
    throw new Error(
      `Building ${plan.module.folder} ${plan.version} needs another Go (${result.stderr.trim()}): ${hint}.`,
    )
  }
  const have = /go(\d+\.\d+)/.exec(result.stdout)?.[1]
  if (have !== undefined && minorOf(have) < minorOf(plan.goVersion)) {
    throw new Error(
      `Building ${plan.module.folder} ${plan.version} needs Go ${plan.goVersion}, and ${result.stdout.trim()} is installed: ${hint}.`,
    )
  }
}

async function runGo(
  plan: BuildPlan,
  args: readonly string[],
  config: ClusterConfig,
  progress: Progress,
): Promise<void> {
  const what = `${Object.keys(plan.module.programs).join(', ')} ${plan.version}`
  const started = performance.now()
  progress(`building ${what} (once; kept in ${join(config.cacheDir, 'tools')})`)
  const child = spawn('go', [...args], {
    cwd: plan.directory,
    env: { ...config.childEnv, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const output = followOutput(child)
  const heartbeat = setInterval(
    () => progress(`building ${what}: ${elapsed(started)}, ${output.state()}`),
    HEARTBEAT_MS,
  )
  const stop = () => child.kill()
  process.once('exit', stop)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code !== 0) throw new Error(`Building ${what} failed (go exit code ${code}): ${output.errors()}`)
  } finally {
    clearInterval(heartbeat)
    process.off('exit', stop)
  }
  progress(`built ${what} in ${elapsed(started)}`)
}

/** Sorts what `go build -v` prints into downloads, compiled packages and everything else. */
function followOutput(child: ChildProcess): { state: () => string; errors: () => string } {
  let downloads = 0
  let compiled = 0
  let rest = ''
  const others: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('go: downloading ')) downloads++
      else if (/^[\w./~-]+$/.test(line)) compiled++
      else others.push(line)
    }
  })
  return {
    state: () => `${downloads} modules downloaded, ${compiled} packages compiled`,
    errors: () => [...others, rest].slice(-15).join('\n').trim(),
  }
}

function elapsed(started: number): string {
  const seconds = Math.round((performance.now() - started) / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

async function allExecutable(paths: ReadonlyArray<readonly [ToolName, string]>): Promise<boolean> {
  for (const [, path] of paths) if (!(await isExecutable(path))) return false
  return true
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
