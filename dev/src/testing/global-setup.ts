import { startTestCluster } from '../cluster/testing.ts'

/** One control plane for all files of a run that ask for it; started by the first of them. */
export default async function setup(): Promise<() => Promise<void>> {
  const cluster = await startTestCluster()
  return () => cluster.stop()
}
