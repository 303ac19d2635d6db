import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedCluster } from '../cluster/embedded.ts'
import { startEmbeddedPostgres } from '../postgres/embedded.ts'
import { startProcess, stopProcess } from '../process.ts'
import type { RunningProcess } from '../process.ts'
import { installAccounts } from './accounts.ts'
import {
  apiEnvironment,
  migrateEnvironment,
  operatorEnvironment,
  proxiedEnvironment,
  systemUrls,
} from './environment.ts'
import { prepareCluster } from './prepare-cluster.ts'
import { ROOT } from './paths.ts'
import type { Unit, UnitHandle } from './supervisor.ts'
import type { SystemFacts } from './facts.ts'

const LOCAL_NODE = 'local-0'
/** What the local node runs in place of our images. */
const OWN_IMAGES = {
  'service/adapter': { command: process.execPath, args: [join(ROOT, 'adapter/src/main.ts')] },
  'service/runs-worker': { command: process.execPath, args: [join(ROOT, 'runs-worker/src/main.ts')] },
}

export const postgresUnit = (facts: SystemFacts): Unit => ({
  name: 'PostgreSQL',
  start: async () => {
    const dataDir = join(facts.config.paths.dataDir, 'postgres')
    const server = await startEmbeddedPostgres({ dataDir, port: facts.kept.ports.postgres, log: facts.log })
    facts.databases = server.urls
    return { records: [server.process], stop: () => server.stop() }
  },
})

export const clusterUnit = (facts: SystemFacts): Unit => ({
  name: 'control plane',
  start: async () => {
    const cluster = await startEmbeddedCluster({
      dataDir: join(facts.config.paths.dataDir, 'cluster'),
      progress: facts.log,
      ...(facts.config.auditLog === undefined ? {} : { auditLog: facts.config.auditLog }),
    })
    facts.kubeconfig = cluster.kubeconfigPath
    await prepareCluster(cluster.kubeconfigPath)
    facts.accounts = await installAccounts({
      kubeconfig: cluster.kubeconfigPath,
      helm: facts.tools.helm,
      directory: join(facts.config.paths.dataDir, 'cluster'),
      separateOperator: facts.config.separateOperator,
    })
    return { records: cluster.processes, stop: () => cluster.stop() }
  },
})

export const indexerUnit = (facts: SystemFacts): Unit => ({
  name: 'indexer',
  start: async () => {
    const child = await startNode(facts, 'indexer', 'dev/src/indexer/main.ts', {
      INDEXER_PORT: String(facts.kept.ports.indexer),
      INDEXER_DATA_DIR: join(facts.config.paths.dataDir, 'indexer'),
    })
    return whenAnswering(child, `${systemUrls(facts.kept).indexer}/`)
  },
})

export const nodeUnit = (facts: SystemFacts): Unit => ({
  name: 'local node',
  start: async () => {
    const dataDir = join(facts.config.paths.dataDir, 'node')
    const images = join(dataDir, 'images.json')
    await mkdir(dataDir, { recursive: true })
    await writeFile(images, JSON.stringify(OWN_IMAGES))
    const child = await startNode(facts, 'node', 'dev/src/node/main.ts', {
      LOCAL_NODE_NAME: LOCAL_NODE,
      LOCAL_NODE_KUBECONFIG: known(facts.kubeconfig),
      LOCAL_NODE_DATA_DIR: dataDir,
      LOCAL_NODE_IMAGES: images,
    })
    return handleOf(child)
  },
})

export const apiUnit = (facts: SystemFacts): Unit => ({
  name: 'API',
  start: async () => {
    const parts = partsOf(facts)
    const init = await startNode(facts, 'migrate', 'api/src/main.ts', migrateEnvironment(parts), ['migrate'])
    const { code } = await init.exited
    if (code !== 0)
      throw new Error(`the init step failed with exit code ${code}: see ${logFile(facts, 'migrate')}`)
    const env = { ...apiEnvironment(parts), ...facts.config.extraEnv?.() }
    const child = await startNode(facts, 'api', 'api/src/main.ts', env, ['serve'])
    return whenAnswering(child, `${systemUrls(facts.kept).apiForPods}/health/ready`)
  },
})

/** Over the schema that the first API's init step has made. */
export const proxiedUnit = (facts: SystemFacts): Unit => ({
  name: 'API in proxy mode',
  start: async () => {
    const env = { ...proxiedEnvironment(partsOf(facts)), ...facts.config.extraEnv?.() }
    const child = await startNode(facts, 'api-proxy', 'api/src/main.ts', env, ['serve'])
    return whenAnswering(child, `${systemUrls(facts.kept).proxied}/health/ready`)
  },
})

export const operatorUnit = (facts: SystemFacts): Unit => ({
  name: 'operator',
  start: async () => {
    const env = { ...operatorEnvironment(partsOf(facts)), ...facts.config.extraEnv?.() }
    return handleOf(await startNode(facts, 'operator', 'operator/src/main.ts', env))
  },
})

function partsOf(facts: SystemFacts) {
  return {
    kept: facts.kept,
    accounts: known(facts.accounts),
    tools: facts.tools,
    databases: known(facts.databases),
    separateOperator: facts.config.separateOperator,
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a part was started before what it needs')
  return value
}

const logFile = (facts: SystemFacts, name: string): string =>
  join(facts.config.paths.localDir, 'logs', `${name}.log`)

function startNode(
  facts: SystemFacts,
  name: string,
  script: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<RunningProcess> {
  return startProcess(name, process.execPath, [join(ROOT, script), ...args], {
    logFile: logFile(facts, name),
    env: { ...facts.config.childEnv, ...env },
    cwd: ROOT,
  })
}

/** The API drains for 30 s at most. */
const DRAIN_MS = 35_000

const handleOf = (child: RunningProcess): UnitHandle => ({
  records: [child.record],
  stop: async () => {
    await stopProcess(child.record, DRAIN_MS)
  },
})

const READY_MS = 60_000

/** Waits until the process answers with success; a process that ends first is an error. */
async function whenAnswering(child: RunningProcess, url: string): Promise<UnitHandle> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline) {
    const exit = child.exit()
    if (exit !== undefined)
      throw new Error(`${child.record.name} ended at its start (${exit.signal ?? exit.code})`)
    const ok = await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (ok) return handleOf(child)
    await sleep(100)
  }
  await stopProcess(child.record)
  throw new Error(`${child.record.name} did not answer at ${url} within ${READY_MS / 1000} s`)
}
