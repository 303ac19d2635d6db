import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { ANNOTATIONS } from '@service/domain'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually, readTenant, startTestBed, writeMaterial } from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { conditionOf, tenantSpec } from './tenant.ts'

/** Tenants whose pods never start, with ten workers: the drill takes more of them. */
const WAITING = Number(process.env['BUSY_TENANTS'] ?? 20)
const CONCURRENCY = 10
const ALLOWED = 1.2
/** An install takes a second or two, most of it helm's, and what else the machine does weighs as much: looked at in pairs. */
const ROUNDS = { least: 3, most: 12 } as const
const INSTALL_MS = 60_000

let bed: TestBed
const waiting = Array.from({ length: WAITING }, (_, index) => `waiting-${index}`)
beforeAll(async () => {
  bed = await startTestBed()
  await bed.startOperator({ SERVICE_OPERATOR_CONCURRENCY: String(CONCURRENCY) })
})
afterAll(() => bed.end())

async function create(slug: string): Promise<void> {
  const tenant = tenantSpec(slug)
  await writeMaterial(bed.kube, tenant)
  await bed.kube.create(TENANTS, tenant)
}
const untilInstalled = (slug: string): Promise<void> =>
  eventually(
    `${slug} is installed`,
    async () => (await readTenant(bed.kube, slug)).status?.phase === 'provisioning',
    INSTALL_MS + WAITING * 5_000,
  )
/** From the order to the deployed release, in milliseconds. */
async function install(slug: string): Promise<number> {
  const startedAt = performance.now()
  await create(slug)
  await untilInstalled(slug)
  return performance.now() - startedAt
}
/** Takes all tenants out of the operator's hands, or gives them back. */
async function setPaused(paused: boolean): Promise<void> {
  const annotations = { [ANNOTATIONS.reconcile]: paused ? 'false' : null }
  const list = async () => (await bed.kube.list<Tenant>(TENANTS)).items
  for (const { metadata } of await list())
    await bed.kube.patch(TENANTS, { name: metadata.name }, { metadata: { annotations } })
  const wanted = paused ? 'Unknown Paused' : 'False PodsNotReady'
  const heeded = async () => (await list()).every((each) => conditionOf(each, 'Ready') === wanted)
  await eventually(`all are ${wanted}`, heeded, INSTALL_MS)
}
const median = (of: readonly number[]): number => of.toSorted((a, b) => a - b)[of.length >> 1] ?? NaN
const line = (of: readonly number[]): string =>
  `median ${Math.round(median(of))} ms of ${of.map(Math.round).join(', ')}`

it(
  `${WAITING} tenants that never become ready do not slow the next one down`,
  async () => {
    const startedAt = performance.now()
    await Promise.all(waiting.map(create))
    await Promise.all(waiting.map(untilInstalled))
    console.info(`${WAITING} installed at once in ${Math.round(performance.now() - startedAt)} ms`)
    const [idle, busy]: [number[], number[]] = [[], []]
    const slowdown = (): number => median(busy) / median(idle)
    for (let round = 0; round < ROUNDS.most; round += 1) {
      // In turns first, so that a machine that slows down meanwhile slows both.
      for (const paused of round % 2 === 0 ? [true, false] : [false, true]) {
        const times = paused ? idle : busy
        await setPaused(paused)
        times.push(await install(`${paused ? 'idle' : 'busy'}-${round}`))
      }
      console.info(`idle ${Math.round(idle.at(-1) ?? NaN)} ms, busy ${Math.round(busy.at(-1) ?? NaN)} ms`)
      if (round + 1 >= ROUNDS.least && slowdown() <= ALLOWED) break
    }
    console.info(`on an idle system: ${line(idle)}`)
    console.info(`beside ${WAITING} and more that wait: ${line(busy)}, ${slowdown().toFixed(2)} times`)
    expect(slowdown()).toBeLessThanOrEqual(ALLOWED)
  },
  300_000 + WAITING * 10_000,
)
