import type { KindCluster } from '../cluster/kind.ts'
import type { Connection } from '../system/connection.ts'
import type { GuidePlace } from './guide.ts'

/** Names of the installation guide. */
export const NAMESPACE = 'service-system'
export const RELEASE = 'service-system'
/** The tenant of the installation guide. */
export const GUIDE_TENANT = 'globex'
/** Where the stand-ins of the tenants' indexers are. */
export const STANDIN_NAMESPACE = 'standins'

/** Ports of the node behind which Services stand. */
export const NODE_PORTS = { api: 30_080, metrics: 30_090, postgres: 30_543, indexer: 30_920 } as const

/** What the scenarios are told of a running system, as JSON. */
export type KindWorld = {
  readonly connection: Connection
  readonly cluster: Pick<KindCluster, 'name' | 'kubeconfigPath'>
  readonly guide: GuidePlace
}
