import { systemClock } from './clock.ts'
import { armFailpoint, type Clock, type HitFailpoint } from '@service/domain'
import { createKubeClient, type KubeClient } from '@service/kube'
import type { ServeConfig } from './config/index.ts'
import { createDatabase, type Database } from './db/database.ts'
import type { Log } from './log.ts'
import { createMaterialStore, type MaterialStore } from './secrets/material.ts'
import { createServiceTokens, type ServiceTokens } from './tokens/tokens.ts'

/** What the process is made of; each part gets what it needs of it and never the whole. */
export type Context = {
  readonly config: ServeConfig
  readonly log: Log
  readonly clock: Clock
  readonly db: Database
  /** `null` when the cluster is switched off. */
  readonly cluster: KubeClient | null
  readonly tokens: ServiceTokens
  readonly material: MaterialStore
  /** Called after each effect and each transaction; kills the process in drills. */
  readonly hit: HitFailpoint
  close(): Promise<void>
}

const USER_AGENT = 'service-api'

/** Builds everything and connects nothing. */
export function createContext(config: ServeConfig, log: Log): Context {
  const clock = systemClock
  const db = createDatabase({ ...config.database, log })
  const cluster = createCluster(config.cluster)
  return {
    config,
    log,
    clock,
    db,
    cluster,
    tokens: createServiceTokens({ adapter: config.keys.adapter, worker: config.keys.jwt }, clock),
    material: createMaterialStore(cluster, config.installNamespace),
    hit: armFailpoint(config.failpoint, () => process.kill(process.pid, 'SIGKILL')),
    async close() {
      await Promise.allSettled([db.close(), cluster?.close()])
    },
  }
}

function createCluster(config: ServeConfig['cluster']): KubeClient | null {
  if (config.kind === 'off') return null
  const source = config.kind === 'in-cluster' ? { inCluster: true as const } : { kubeconfigPath: config.path }
  return createKubeClient({ ...source, userAgent: USER_AGENT })
}
