import type { TestProject } from 'vitest/node'
import { startTestCluster } from '../cluster/testing.ts'
import { startTestPostgres } from '../postgres/testing.ts'

/** One PostgreSQL with a migrated template and, once a file asks for it, one control plane for all files of a run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startTestCluster()
  const database = await startTestPostgres()
  project.provide('postgres', database.context)
  return async () => {
    await Promise.all([cluster.stop(), database.stop()])
  }
}
