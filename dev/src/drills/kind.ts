import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { namespaceOf } from '@service/domain'
import { deleteKindCluster } from '../cluster/kind.ts'
import { docker, NO_DOCKER_EXIT, NoDocker } from '../images/docker.ts'
import { killPods } from '../kind/join.ts'
import { GUIDE_TENANT, NAMESPACE, RELEASE } from '../kind/layout.ts'
import { raiseWorld } from '../kind/world.ts'
import { systemPaths } from '../system/paths.ts'
import { faultsOf } from './crash/rounds.ts'
import { changedSecrets } from './crash/tenants.ts'
import { settle, startLoad, untilStored } from './kind/load.ts'
import type { Load } from './kind/load.ts'
import { killWhileProvisioning } from './kind/provisioning.ts'
import { rotateToken } from './kind/rotation.ts'
import { allSecrets, openDrill, seconds } from './kind/world.ts'
import type { KindDrill } from './kind/world.ts'

/**
 * The installed system on a kind cluster of its own, and what it comes back from by itself: pods that are taken away, in the
 * middle of provisioning and under a stream of events, the node's restart, a token that is withdrawn.
 */
const ROUNDS = 10
const BEFORE_MS = 5_000

const { dataDir } = systemPaths(process.env)
const place = { name: `service-${basename(dataDir)}-drill`, dataDir: join(dataDir, 'kind-drill') }
const faults: string[] = []
const fault = (text: string): void => {
  faults.push(text)
  console.log(`  FAULT ${text}`)
}

const CASES: readonly {
  readonly name: string
  readonly times: number
  readonly harm: (drill: KindDrill) => Promise<unknown>
}[] = [
  {
    name: 'PostgreSQL pod killed',
    times: 3,
    harm: ({ tools }) => killPods(tools.kubectl, NAMESPACE, `statefulset/${RELEASE}-postgres`),
  },
  {
    name: 'adapter pod killed',
    times: 3,
    harm: ({ tools }) =>
      killPods(tools.kubectl, namespaceOf(GUIDE_TENANT), 'deployment/service-tenant-adapter'),
  },
  {
    name: 'API pod killed',
    times: 3,
    harm: ({ tools }) => killPods(tools.kubectl, NAMESPACE, `deployment/${RELEASE}-api`),
  },
  { name: 'node restarted', times: 1, harm: () => docker('restart', `${place.name}-control-plane`) },
]

async function provisioning(drill: KindDrill): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const death = await killWhileProvisioning(drill, round)
    const { state, answeringMs, recoveryMs } = death
    console.log(
      `API pod killed while a tenant was ${state}: answers after ${seconds(answeringMs)}, active after ${seconds(recoveryMs)}`,
    )
    death.faults.forEach(fault)
  }
}

/** How long after the harm an alert is stored that came after it. */
async function recovery(drill: KindDrill, load: Load, harm: () => Promise<unknown>): Promise<number> {
  await sleep(BEFORE_MS)
  const at = performance.now()
  await harm()
  await untilStored(drill, await load.next())
  return performance.now() - at
}

async function underLoad(drill: KindDrill): Promise<void> {
  const load = startLoad(drill)
  for (const { name, times, harm } of CASES)
    for (let round = 0; round < times; round += 1) {
      const ms = await recovery(drill, load, () => harm(drill))
      console.log(`${name} under load: an alert that came afterwards is stored after ${seconds(ms)}`)
    }
  const { given, lost, doubled, foreign } = await settle(drill, load)
  console.log(`${given} alerts: ${lost} lost, ${doubled} doubled`)
  if (lost + doubled + foreign > 0)
    fault(`${lost} alerts lost, ${doubled} doubled, ${foreign} that nobody gave`)
}

async function rotation(drill: KindDrill): Promise<void> {
  const { copiedMs, usedMs, restarted } = await rotateToken(drill)
  console.log(
    `withdrawn token: the new one is in the tenant's Secret after ${seconds(copiedMs)}, the adapter uses it ${seconds(usedMs)} later`,
  )
  if (restarted) fault('the adapter was restarted for its new token')
}

async function drillKind(drill: KindDrill): Promise<void> {
  const before = await allSecrets(drill)
  await provisioning(drill)
  await underLoad(drill)
  const changed = changedSecrets(before, await allSecrets(drill))
  console.log(`${before.size} Secrets, ${changed.length} changed`)
  for (const name of changed) fault(`Secret ${name} has changed`)
  const told = await faultsOf(drill, GUIDE_TENANT, drill.tenantId, new Map())
  told.forEach(fault)
  await rotation(drill)
}

async function main(): Promise<void> {
  const drill = await openDrill(await raiseWorld(place, 'tenant', console.log))
  try {
    await drillKind(drill)
  } catch (error) {
    fault(error instanceof Error ? `${error.message} (${String(error.cause)})` : String(error))
  } finally {
    await drill.end()
  }
  console.log(faults.length === 0 ? 'everything came back by itself' : `${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

try {
  await main()
} catch (error) {
  console.error(error instanceof NoDocker ? error.message : error)
  process.exitCode = error instanceof NoDocker ? NO_DOCKER_EXIT : 1
} finally {
  if (process.env.KEEP !== '1') await deleteKindCluster(place).catch(() => undefined)
}
