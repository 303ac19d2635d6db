import type { Connection, KindCluster } from '@service/dev'

/** Names of the installation guide. */
export const NAMESPACE = 'service-system'
export const RELEASE = 'service-system'
/** Where the stand-ins of the tenants' indexers are. */
export const STANDIN_NAMESPACE = 'e2e'

/** Ports of the node behind which Services stand. */
export const NODE_PORTS = { api: 30_080, postgres: 30_543, indexer: 30_920 } as const

/** What the scenarios are told of a running system, as JSON. */
export type KindWorld = {
  readonly connection: Connection
  readonly cluster: Pick<KindCluster, 'name' | 'kubeconfigPath'>
}
