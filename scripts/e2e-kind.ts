import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { deleteKindCluster } from '../dev/src/cluster/kind.ts'
import { ensureTools } from '../dev/src/cluster/tools.ts'
import { NO_DOCKER_EXIT, NoDocker } from '../dev/src/images/docker.ts'
import { systemPaths } from '../dev/src/system/paths.ts'
import { WORLD_FILE } from '../e2e/src/config.ts'
import { keepEvidence, raiseWorld, writeWorld } from '../dev/src/kind/world.ts'
import type { Place } from '../dev/src/kind/world.ts'
import { NONE, printTotals, runProject, sum } from './runner.ts'
import type { Totals } from './runner.ts'

/**
 * The whole system from its images on a kind cluster of its own: raises it, runs the scenarios, takes it down.
 * `KEEP=1` leaves it up. A set-up that fails is one failure. Without a Docker engine: exit 3.
 */
const { dataDir, localDir } = systemPaths(process.env)
const checkout = basename(dataDir)
const place: Place = { name: `service-${checkout}`, dataDir: join(dataDir, 'kind') }
const worldFile = join(localDir, 'kind/world.json')
const evidence = join(localDir, 'kind/failure')
const keep = process.env.KEEP === '1'
const log = (line: string): void => console.log(line)

async function scenarios(): Promise<Totals> {
  try {
    await writeWorld(worldFile, await raiseWorld(place, 'tenant', log))
  } catch (error) {
    if (error instanceof NoDocker) throw error
    console.error(error)
    return { ...NONE, failed: 1, failures: [`FAILED set-up on kind: ${String(error)}`] }
  }
  const env = { [WORLD_FILE]: worldFile }
  return sum(...['kind', 'kind-after'].map((project) => runProject(project, process.argv.slice(2), env)))
}

async function main(): Promise<void> {
  const began = performance.now()
  await ensureTools({ progress: log })
  const totals = await scenarios()
  await rm(evidence, { recursive: true, force: true })
  if (totals.failed > 0) {
    await keepEvidence(place, evidence).catch((error: unknown) => console.error(error))
    log(`logs of nodes and pods, and the tenants' objects: ${evidence}`)
  }
  if (keep) log(`the cluster is left: export KUBECONFIG=${join(place.dataDir, 'kubeconfig')}`)
  else {
    await deleteKindCluster(place)
    await rm(worldFile, { force: true })
  }
  log(`end to end on kind: ${Math.round((performance.now() - began) / 1_000)} s`)
  printTotals(totals)
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1
}

await main().catch((error: unknown) => {
  console.error(error instanceof NoDocker ? error.message : error)
  process.exitCode = error instanceof NoDocker ? NO_DOCKER_EXIT : 1
})
