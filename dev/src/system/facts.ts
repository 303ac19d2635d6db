import type { Tools } from '../cluster/tools.ts'
import type { SystemConfig } from './config.ts'
import type { Accounts } from './accounts.ts'
import type { DatabaseUrls } from './environment.ts'
import type { Kept } from './kept.ts'

/** What units learn while the system starts. */
export type SystemFacts = {
  readonly config: SystemConfig
  readonly kept: Kept
  readonly tools: Tools
  readonly log: (line: string) => void
  databases: DatabaseUrls | undefined
  /** The administrator's. */
  kubeconfig: string | undefined
  /** What API and operator run as. */
  accounts: Accounts | undefined
}
