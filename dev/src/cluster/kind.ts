import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { docker, NoDocker, requireDocker } from '../images/docker.ts'
import { AUDIT_LOG, AUDIT_POLICY, kindConfig } from './kind-config.ts'
import { freePort } from './ports.ts'

const MAX_OUTPUT = 16 * 1_024 * 1_024
const CREATE_MS = 10 * 60_000
const READY_WAIT = '180s'

export type KindSettings = {
  /** Image of the nodes; `undefined` for the one of this kind's release. */
  readonly nodeImage: string | undefined
  /** File with a configuration to start from. */
  readonly configFile: string | undefined
  /** What kind gets as its environment: without a KUBECONFIG, so that nobody's is touched. */
  readonly childEnv: Readonly<Record<string, string | undefined>>
}

export function readKindSettings(
  env: Readonly<Record<string, string | undefined>> = process.env,
): KindSettings {
  const { KUBECONFIG: _ignored, ...childEnv } = env
  return { nodeImage: env.KIND_NODE_IMAGE || undefined, configFile: env.KIND_CONFIG || undefined, childEnv }
}

export type KindCluster = {
  readonly name: string
  /** Its own: `~/.kube/config` is never read or written. */
  readonly kubeconfigPath: string
  /** Port of the node → port of 127.0.0.1 on this machine. */
  readonly ports: ReadonlyMap<number, number>
}

type Options = {
  readonly name: string
  /** Holds kubeconfig, configuration and audit policy. */
  readonly dataDir: string
  /** Ports of the node that are to be reached from this machine. */
  readonly nodePorts: readonly number[]
  /** False when the configuration leaves the network out, without which no node becomes ready. Default true. */
  readonly waitReady?: boolean
  readonly settings?: KindSettings
}

/**
 * Makes a cluster of containers and waits for its node; one of the same name is replaced. Rejects with NoDocker when
 * there is no Docker engine or no kind.
 */
export async function createKindCluster(options: Options): Promise<KindCluster> {
  const { name, dataDir, nodePorts } = options
  const settings = options.settings ?? readKindSettings()
  await requireDocker()
  await requireKind(settings)
  await deleteKindCluster({ name, dataDir }, settings)
  const auditDir = join(dataDir, 'audit')
  await mkdir(auditDir, { recursive: true })
  await writeFile(join(auditDir, 'policy.yaml'), stringify(AUDIT_POLICY))
  const ports = new Map<number, number>()
  for (const port of nodePorts) ports.set(port, await freePort())
  const given = settings.configFile === undefined ? '' : await readFile(settings.configFile, 'utf8')
  const config = join(dataDir, 'kind.yaml')
  await writeFile(config, kindConfig(given, { auditDir, ports }))
  const kubeconfigPath = join(dataDir, 'kubeconfig')
  const image = settings.nodeImage === undefined ? [] : ['--image', settings.nodeImage]
  const where = ['--name', name, '--kubeconfig', kubeconfigPath]
  const wait = options.waitReady === false ? [] : ['--wait', READY_WAIT]
  await kind(settings, ['create', 'cluster', ...where, ...image, '--config', config, ...wait])
  return { name, kubeconfigPath, ports }
}

/** Puts images of this machine's engine into the nodes. */
export const loadKindImages = (
  { name }: Pick<KindCluster, 'name'>,
  references: readonly string[],
  settings = readKindSettings(),
): Promise<string> => kind(settings, ['load', 'docker-image', ...references, '--name', name])

/** NDJSON of `audit.k8s.io/v1` events (kind-config.ts says which). Only root may read the file where it lies. */
export const readKindAuditLog = ({ name }: Pick<KindCluster, 'name'>): Promise<string> =>
  docker('exec', `${name}-control-plane`, 'cat', AUDIT_LOG)

/** Logs of nodes and pods into a folder. */
export const exportKindLogs = (
  { name }: Pick<KindCluster, 'name'>,
  folder: string,
  settings = readKindSettings(),
): Promise<string> => kind(settings, ['export', 'logs', folder, '--name', name])

/** No such cluster is success. */
export async function deleteKindCluster(
  { name, dataDir }: { readonly name: string; readonly dataDir: string },
  settings = readKindSettings(),
): Promise<void> {
  await kind(settings, ['delete', 'cluster', '--name', name, '--kubeconfig', join(dataDir, 'kubeconfig')])
  await rm(dataDir, { recursive: true, force: true })
}

async function requireKind(settings: KindSettings): Promise<void> {
  await kind(settings, ['version']).catch(() => {
    throw new NoDocker(
      'This needs kind (https://kind.sigs.k8s.io), and "kind version" does not succeed: install it.',
    )
  })
}

async function kind(settings: KindSettings, args: readonly string[]): Promise<string> {
  const options = { env: { ...settings.childEnv }, maxBuffer: MAX_OUTPUT, timeout: CREATE_MS }
  const { stdout } = await promisify(execFile)('kind', [...args], options).catch(
    (error: Error & { stderr?: string }) => {
      throw new Error(
        `kind ${args.slice(0, 2).join(' ')} failed: ${error.stderr?.slice(-2_000) ?? error.message}`,
      )
    },
  )
  return stdout
}
