import { systemPaths } from './paths.ts'
import type { SystemPaths } from './paths.ts'

export type SystemConfig = {
  readonly paths: SystemPaths
  /** On which cluster it runs: the embedded one with our processes, or one of containers with our images. */
  readonly cluster: 'embedded' | 'kind'
  /** The operator as a process of its own instead of inside the API. */
  readonly separateOperator: boolean
  /** A second API beside the usual one, in proxy mode (decision 10.6). */
  readonly proxied: boolean
  readonly alertsFile: string | undefined
  readonly alertCount: number
  /** What child processes inherit. A KUBECONFIG is never among it. */
  readonly childEnv: Readonly<Record<string, string | undefined>>
  /** Any free ports instead of the usual ones, which several systems would want that start at the same time. */
  readonly anyPorts?: boolean
  /** File into which the API server writes a line for each request; none without. */
  readonly auditLog?: string
  /** What API and operator get on top, asked at each of their starts. */
  readonly extraEnv?: () => Readonly<Record<string, string>>
}

/** The only place where the development system reads the environment. */
export function readSystemConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): SystemConfig {
  const { KUBECONFIG: _ignored, ...childEnv } = env
  const count = Number(env.ALERTS ?? '200')
  if (!Number.isInteger(count) || count < 1 || count > 100_000)
    throw new Error('ALERTS must be a whole number from 1 to 100000')
  const cluster = env.CLUSTER || 'embedded'
  if (cluster !== 'embedded' && cluster !== 'kind') throw new Error('CLUSTER must be embedded or kind')
  return {
    paths: systemPaths(env),
    cluster,
    separateOperator: env.OPERATOR === 'separate',
    proxied: env.PROXY === '1',
    alertsFile: env.ALERTS_FILE === '' ? undefined : env.ALERTS_FILE,
    alertCount: count,
    childEnv,
  }
}
