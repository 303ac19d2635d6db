import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureTools } from '../cluster/tools.ts'
import { removeConnection, writeConnection } from './connection.ts'
import type { Connection } from './connection.ts'
import type { SystemConfig } from './config.ts'
import type { ProcessRecord } from '../process.ts'
import { operatorEnvironment, systemUrls, TRUSTED_IP } from './environment.ts'
import { keep } from './kept.ts'
import type { SystemFacts } from './facts.ts'
import { SupervisedUnit } from './supervisor.ts'
import type { Unit } from './supervisor.ts'
import {
  apiUnit,
  clusterUnit,
  indexerUnit,
  nodeUnit,
  operatorUnit,
  postgresUnit,
  proxiedUnit,
} from './units.ts'

export type UnitName = 'postgres' | 'cluster' | 'indexer' | 'node' | 'operator' | 'api' | 'proxied'

export type System = {
  connection(): Connection
  /** Stops one part and keeps it stopped, until it is started again. */
  stop(name: UnitName): Promise<void>
  start(name: UnitName): Promise<void>
  /** Kills one part's processes; the supervisor starts it again. */
  kill(name: UnitName, signal?: NodeJS.Signals): void
  /** What a further operator of this system has to be started with. */
  operatorEnvironment(): Readonly<Record<string, string>>
  shutdown(): Promise<void>
}

/** Starts every part of the system, in order, and keeps each running until `shutdown`; `signal` ends the starting. */
export async function startSystem(
  config: SystemConfig,
  log: (line: string) => void,
  record: (processes: readonly ProcessRecord[]) => Promise<void> = () => Promise.resolve(),
  signal: AbortSignal = new AbortController().signal,
): Promise<System> {
  const { dataDir, localDir } = config.paths
  await mkdir(join(localDir, 'logs'), { recursive: true })
  const tools = await ensureTools({ progress: log })
  const kept = await keep(dataDir, config.anyPorts)
  const facts: SystemFacts = {
    config,
    kept,
    tools,
    log,
    databases: undefined,
    kubeconfig: undefined,
    accounts: undefined,
  }
  const units = new Map<UnitName, SupervisedUnit>()
  let complete = false
  let publishing = Promise.resolve()
  const publish = () => {
    publishing = publishing
      .then(async () => {
        await record([...units.values()].flatMap((unit) => unit.records()))
        if (complete) await writeConnection(localDir, connection())
      })
      .catch((error: unknown) => log(`what runs could not be written down: ${String(error)}`))
  }
  const connection = (): Connection => describeConnection(facts, units)
  const startUnit = async (name: UnitName, unit: Unit): Promise<void> => {
    signal.throwIfAborted()
    const began = performance.now()
    const supervised = new SupervisedUnit(unit, { log, onChange: publish })
    units.set(name, supervised)
    await supervised.start()
    log(`${unit.name} is up (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  }
  const shutdown = async () => {
    complete = false
    for (const unit of [...units.values()].toReversed()) await unit.stop()
    await publishing
    await removeConnection(localDir)
  }
  try {
    await Promise.all([
      startUnit('postgres', postgresUnit(facts)),
      startUnit('cluster', clusterUnit(facts)),
      startUnit('indexer', indexerUnit(facts)),
    ])
    await startUnit('node', nodeUnit(facts))
    await startUnit('api', apiUnit(facts))
    if (config.proxied) await startUnit('proxied', proxiedUnit(facts))
    if (config.separateOperator) await startUnit('operator', operatorUnit(facts))
  } catch (error) {
    await shutdown()
    throw error
  }
  complete = true
  await writeConnection(localDir, connection())
  const unitOf = (name: UnitName): SupervisedUnit => {
    const unit = units.get(name)
    if (unit === undefined) throw new Error(`this system runs no ${name}`)
    return unit
  }
  return {
    connection,
    stop: (name) => unitOf(name).stop(),
    start: (name) => unitOf(name).start(),
    kill: (name, signal = 'SIGKILL') => {
      for (const record of unitOf(name).records()) process.kill(record.pid, signal)
    },
    operatorEnvironment: () => {
      if (facts.accounts === undefined) throw new Error('the system has not started yet')
      return operatorEnvironment({ kept, accounts: facts.accounts, tools })
    },
    shutdown,
  }
}

function describeConnection(facts: SystemFacts, units: ReadonlyMap<UnitName, SupervisedUnit>): Connection {
  if (facts.databases === undefined || facts.kubeconfig === undefined)
    throw new Error('the system has not started yet')
  const urls = systemUrls(facts.kept)
  const records = [...units.values()].flatMap((unit) => unit.records())
  return {
    mssp_url: urls.mssp,
    proxy_mssp_url: facts.config.proxied ? urls.proxied : null,
    proxy_trusted_ip: facts.config.proxied ? TRUSTED_IP : null,
    customer_url_template: urls.customerTemplate,
    metrics_url: urls.metrics,
    admin: facts.kept.admin,
    kubeconfig: facts.kubeconfig,
    databases: facts.databases,
    indexer_url: urls.indexer,
    llm_url: null,
    pids: Object.fromEntries(records.map((record) => [record.name.replaceAll('-', '_'), record.pid])),
  }
}
