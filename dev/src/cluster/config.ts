import { homedir } from 'node:os'
import { join } from 'node:path'

export interface ClusterConfig {
  /** Where built tools are kept, outside the checkout. */
  cacheDir: string
  /** Folder that already holds etcd and kube-apiserver, or undefined. */
  kubebuilderAssets: string | undefined
  /** Socket of a cluster that a test run shares, or undefined. */
  testClusterSocket: string | undefined
  /** What child processes get as their environment (the search path, proxies of the Go client). */
  childEnv: Readonly<Record<string, string | undefined>>
}

export const TEST_CLUSTER_SOCKET = 'SERVICE_TEST_CLUSTER_SOCKET'

/** Reads what the development cluster takes from the environment. A KUBECONFIG in it is never used. */
export function readClusterConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): ClusterConfig {
  const cacheHome = nonEmpty(env.XDG_CACHE_HOME) ?? join(homedir(), '.cache')
  const { KUBECONFIG: _ignored, ...childEnv } = env
  return {
    cacheDir: nonEmpty(env.SERVICE_CACHE_DIR) ?? join(cacheHome, 'service-dev'),
    kubebuilderAssets: nonEmpty(env.KUBEBUILDER_ASSETS),
    testClusterSocket: nonEmpty(env[TEST_CLUSTER_SOCKET]),
    childEnv,
  }
}

/** Test workers are started later and inherit the environment: that is how they learn of the socket. */
export function announceTestCluster(socket: string | undefined): void {
  if (socket === undefined) delete process.env[TEST_CLUSTER_SOCKET]
  else process.env[TEST_CLUSTER_SOCKET] = socket
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
