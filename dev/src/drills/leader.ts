import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { INSTALL_NAMESPACE, LEADER_LEASE_NAME, namespaceOf } from '@service/domain'
import { createKubeClient, LEASES, SECRETS } from '@service/kube'
import type { KubeClient, KubeObject } from '@service/kube'
import { ensureTools } from '../cluster/tools.ts'
import { WHOLE_HISTORY } from '../history.ts'
import type { RunningProcess } from '../process.ts'
import { isAlive, recordingHelm } from '../testing/recording-helm.ts'
import type { RecordingHelm } from '../testing/recording-helm.ts'
import { startWireProxy } from '../wire-proxy/index.ts'
import type { WireProxy } from '../wire-proxy/index.ts'
import { create, historyOf, until, untilActive } from './crash/tenants.ts'
import { startCrashWorld } from './crash/world.ts'
import type { CrashWorld } from './crash/world.ts'
import { startOperatorProcess } from './operators.ts'

/**
 * One leader, whatever happens to it: how long the next one takes after kill -9 and SIGTERM, and what a leader still sends
 * that was stopped for a minute, at rest and in the middle of helm. With the lease of production.
 */
const LEASE_SECONDS = '15'
const LIMITS_MS = { SIGKILL: 17_000, SIGTERM: 3_000 } as const
/** After it goes on: longer than a lease, so that it has looked for its leadership again. */
const AWAKE_MS = 20_000

type Drill = {
  readonly world: CrashWorld
  readonly kube: KubeClient
  readonly proxy: WireProxy
  readonly helm: RecordingHelm
  /** By the proxy or straight to the API server. */
  start(way: 'proxied' | 'straight'): Promise<RunningProcess>
  readonly faults: string[]
}

async function holderOf({ kube }: Drill): Promise<string> {
  type Lease = KubeObject & { readonly spec?: { readonly holderIdentity?: string } }
  const lease = await kube.get<Lease>(LEASES, { name: LEADER_LEASE_NAME, namespace: INSTALL_NAMESPACE })
  return lease?.spec?.holderIdentity ?? ''
}

/** Resolves with the new holder. */
const untilLed = (drill: Drill, former: string): Promise<string> =>
  until('another one to lead', async () => {
    const holder = await holderOf(drill)
    return holder === former ? undefined : holder || undefined
  })

async function failOver(drill: Drill, signals: readonly (keyof typeof LIMITS_MS)[]): Promise<void> {
  let former = await holderOf(drill)
  let leader = await drill.start('straight')
  former = await untilLed(drill, former)
  for (const signal of signals) {
    const follower = await drill.start('straight')
    // Past its start, in step with nothing.
    await sleep(4_000 + Math.random() * 2_000)
    const at = performance.now()
    process.kill(leader.pid, signal)
    former = await untilLed(drill, former)
    const ms = Math.round(performance.now() - at)
    console.log(`fail-over after ${signal}: ${ms} ms`)
    if (ms > LIMITS_MS[signal]) drill.faults.push(`fail-over after ${signal} took ${ms} ms`)
    leader = follower
  }
  process.kill(leader.pid, 'SIGTERM')
  await leader.exited
}

/** Stops the leader for a while, lets another one take over, and counts what the first one sends from then on. */
async function halt(drill: Drill, what: string, seconds: number, leader: RunningProcess): Promise<void> {
  const { proxy, helm } = drill
  const former = await holderOf(drill)
  const runs = (await helm.pids()).filter(isAlive)
  process.kill(leader.pid, 'SIGSTOP')
  const stoppedAt = performance.now()
  const follower = await drill.start('straight')
  const ended = until('helm to end', async () => !runs.some(isAlive)).then(() => performance.now())
  await untilLed(drill, former)
  const lostAt = performance.now()
  const left = runs.filter(isAlive).length
  const helmGone = runs.length === 0 ? 'none ran' : `gone after ${Math.round((await ended) - stoppedAt)} ms`
  await sleep(Math.max(0, stoppedAt + seconds * 1_000 - performance.now()))
  process.kill(leader.pid, 'SIGCONT')
  await sleep(AWAKE_MS)
  const late = proxy.requests.filter(({ at }) => at > lostAt)
  const writes = late.filter(({ method }) => method !== 'GET')
  console.log(
    `stopped for ${seconds} s ${what}: next leader after ${Math.round(lostAt - stoppedAt)} ms; ` +
      `helm of the stopped one (${runs.length}): ${helmGone}, ${left} left at the change; ` +
      `then ${late.length - writes.length} reads and ${writes.length} writes of the former leader`,
  )
  for (const { method, url } of writes) console.log(`  ${method} ${url}`)
  if (left > 0) drill.faults.push(`${what}: helm of the former leader ran on`)
  // At most what was on its way.
  if (writes.length > 1) drill.faults.push(`${what}: the former leader has written ${writes.length} times`)
  if (late.length === 0) drill.faults.push(`${what}: the former leader has not come back to life`)
  process.kill(leader.pid, 'SIGTERM')
  await leader.exited
  process.kill(follower.pid, 'SIGTERM')
  await follower.exited
}

async function haltAtRest(drill: Drill, seconds: number): Promise<void> {
  const former = await holderOf(drill)
  const leader = await drill.start('proxied')
  await untilLed(drill, former)
  const id = await create(drill.world, 'quiet')
  await untilActive(drill.world, 'quiet', id)
  await halt(drill, 'at rest', seconds, leader)
}

async function haltInHelm(drill: Drill, seconds: number): Promise<void> {
  const { world, kube, proxy } = drill
  const slugs = Array.from({ length: 4 }, (_, index) => `halted-${index}`)
  // Helm is held where it looks for the objects, and again where it makes them: by then its record stands.
  const fault = { type: 'delay', ms: 15_000 } as const
  const release = proxy.fault({ resource: 'deployments', kinds: ['other'], fault })
  const former = await holderOf(drill)
  const leader = await drill.start('proxied')
  await untilLed(drill, former)
  const ids = await Promise.all(slugs.map((slug) => create(world, slug)))
  await until('all helms in the middle', async () => {
    const lists = await Promise.all(
      slugs.map((slug) => kube.list(SECRETS, { namespace: namespaceOf(slug), labelSelector: 'owner=helm' })),
    )
    return lists.every(({ items }) => items[0]?.metadata.labels?.['status'] === 'pending-install')
  })
  const ended = halt(drill, 'in the middle of helm', seconds, leader)
  for (const [index, slug] of slugs.entries()) {
    const id = ids[index] ?? ''
    await untilActive(world, slug, id)
    const history = await historyOf(world, id)
    if (JSON.stringify(history) !== JSON.stringify(WHOLE_HISTORY))
      drill.faults.push(`${slug}: its history is ${history.join(', ')}`)
  }
  release()
  await ended
}

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, kills: { type: 'string', default: '3' } },
})
const world = await startCrashWorld({ separateOperator: true })
const { kubeconfig } = world.system.connection()
const kube = createKubeClient({ kubeconfigPath: kubeconfig, userAgent: 'drill-leader' })
const proxy = await startWireProxy({ kubeconfigPath: kubeconfig })
const started: RunningProcess[] = []
const faults: string[] = []
try {
  await world.system.stop('operator')
  const proxied = join(world.directory, 'proxied')
  await proxy.writeKubeconfig(proxied)
  const helm = await recordingHelm((await ensureTools()).helm, world.directory)
  const env = { SERVICE_OPERATOR_LEASE_SECONDS: LEASE_SECONDS, SERVICE_HELM: helm.command }
  const start: Drill['start'] = async (way) => {
    const by = way === 'proxied' ? { SERVICE_KUBECONFIG: proxied } : {}
    const operator = await startOperatorProcess(world.system, world.directory, { ...env, ...by })
    started.push(operator)
    return operator
  }
  const drill = { world, kube, proxy, helm, start, faults }
  const times = Number(values.kills)
  await failOver(drill, [...Array(times).fill('SIGKILL'), ...Array(times).fill('SIGTERM')])
  await haltAtRest(drill, Number(values.seconds))
  await haltInHelm(drill, Number(values.seconds))
} finally {
  for (const operator of started) if (operator.exit() === undefined) process.kill(operator.pid, 'SIGKILL')
  await proxy.close()
  await kube.close()
  await world.end()
}
for (const fault of faults) console.log(fault)
console.log(faults.length === 0 ? 'one leader at all times' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
