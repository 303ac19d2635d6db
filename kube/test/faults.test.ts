import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connectApi, readKubeconfig } from '../../dev/src/cluster/client.ts'
import type { FaultRule, WireFault, WireProxy } from '../../dev/src/wire-proxy/index.ts'
import { connectToCluster } from './cluster.ts'
import { busiest, setStage, untilEqual, untilWatching } from './fault-stage.ts'
import type { Connected, Stage, StageOptions } from './fault-stage.ts'

/** How long a fault lasts here: long enough for the back-off to climb. */
const FAULT_MS = 9_000
const CHURN_MS = 400
/** Property O2. */
const RECOVERY_MS = 10_000
/** The first requests of a fault: the one that meets it and its immediate follower. */
const BURST = 2

type Scenario = {
  readonly name: string
  /** Switches the fault on; the answer switches it off. */
  readonly begin: (proxy: WireProxy) => () => void
  readonly options?: StageOptions
  readonly faultMs?: number
}

/** A fault of these requests; the open watch is ended where the fault itself would not touch it. */
const rules =
  (...given: readonly FaultRule[]) =>
  (proxy: WireProxy) => {
    const ends = given.map((rule) => proxy.fault(rule))
    if (given.some(({ fault }) => fault.type === 'status')) proxy.endWatches()
    return () => ends.forEach((end) => end())
  }
const all = (fault: WireFault) => rules({ resource: 'configmaps', fault })
const watches = (fault: WireFault): FaultRule => ({ kinds: ['watch'], resource: 'configmaps', fault })
const lists = (fault: WireFault): FaultRule => ({ kinds: ['list'], resource: 'configmaps', fault })
const EXPIRED = { type: 'status', code: 410, reason: 'Expired' } as const
const BROKEN = { type: 'status', code: 500, reason: 'InternalError' } as const
const connections = (mode: 'close' | 'blackhole') => (proxy: WireProxy) => {
  proxy.setConnections(mode)
  return () => proxy.setConnections('pass')
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'RST', begin: all({ type: 'reset' }) },
  { name: '500', begin: all(BROKEN) },
  { name: '500 for long', begin: all(BROKEN), faultMs: 22_000 },
  {
    name: '429 with Retry-After',
    begin: all({ type: 'status', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 2 }),
  },
  { name: '410 for watches', begin: rules(watches(EXPIRED)) },
  { name: '410 for watches and lists', begin: all(EXPIRED) },
  { name: 'ERROR event 410', begin: rules(watches({ type: 'error-event', code: 410, reason: 'Expired' })) },
  {
    name: 'ERROR event 500',
    begin: rules(watches({ type: 'error-event', code: 500, reason: 'InternalError' })),
  },
  { name: 'truncated line', begin: rules(watches({ type: 'truncate' })) },
  { name: 'garbage line', begin: rules(watches({ type: 'garbage' })) },
  { name: 'clean close', begin: rules(watches({ type: 'close', afterLines: 0 })) },
  { name: 'clean close after each event', begin: rules(watches({ type: 'close', afterLines: 1 })) },
  { name: 'slow list', begin: rules(watches(EXPIRED), lists({ type: 'delay', ms: 3_000 })) },
  { name: 'failing list', begin: rules(watches(EXPIRED), lists(BROKEN)) },
  { name: 'connections accepted and closed', begin: connections('close') },
  {
    name: 'black hole',
    begin: connections('blackhole'),
    options: { tuning: { silenceMs: 5_000, listTimeoutMs: 5_000 } },
  },
]

const strays: unknown[] = []
const onStray = (reason: unknown): void => void strays.push(reason)
const exit = vi.spyOn(process, 'exit')
const figures: string[] = []
let cluster: Connected

vi.setConfig({ maxConcurrency: SCENARIOS.length + 4, testTimeout: 60_000 })

beforeAll(async () => {
  process.on('unhandledRejection', onStray)
  process.on('uncaughtException', onStray)
  cluster = await connectToCluster()
})
afterAll(async () => {
  await cluster.end()
  process.off('unhandledRejection', onStray)
  process.off('uncaughtException', onStray)
  console.info(figures.toSorted().join('\n'))
  expect(strays).toEqual([])
  expect(exit).not.toHaveBeenCalled()
})

/** Objects come, change, go and come again until the time is over. */
async function churn(stage: Stage, ms: number): Promise<void> {
  const endsAt = performance.now() + ms
  await stage.put('fleeting', '1')
  await stage.remove('doomed')
  await stage.remove('fleeting')
  for (let round = 1; performance.now() < endsAt; round += 1) {
    await stage.put('kept', String(round))
    await stage.put(`new-${round % 5}`, String(round))
    await stage.remove(`new-${(round + 2) % 5}`)
    await sleep(CHURN_MS)
  }
}

/** How often the listener was told so of the object. */
const toldOf = ({ events }: Stage, type: 'set' | 'deleted', name: string): number =>
  events.filter((each) => each.type === type && each.object.metadata.name.endsWith(`-${name}`)).length

/** At most one attempt a second, but for the burst at the start. Whoever meets no server has only connections to show. */
function expectPatience(name: string, { proxy }: Stage, from: number, to: number, recoveryMs: number): void {
  const during = (at: number): boolean => at >= from && at < to
  const requests = proxy.requests.map((each) => each.at).filter(during)
  const attempts = requests.length > 0 ? requests : proxy.acceptedAt.filter(during)
  const span = busiest(attempts, 5_000)
  const seconds = (to - from) / 1_000
  figures.push(
    `${name}: ${attempts.length} attempts in ${seconds.toFixed(1)} s, at most ${span} in 5 s; ` +
      `equal ${Math.round(recoveryMs)} ms after the fault`,
  )
  expect(attempts.length).toBeGreaterThan(0)
  expect(attempts.length).toBeLessThanOrEqual(seconds + BURST)
  expect(span).toBeLessThanOrEqual(5 + BURST)
}

describe.concurrent('after a fault the cache equals the server', () => {
  it.each(SCENARIOS)('$name', async ({ name, begin, options, faultMs = FAULT_MS }) => {
    const stage = await setStage(cluster, options)
    try {
      await untilWatching(stage)
      const from = performance.now()
      const heal = begin(stage.proxy)
      await churn(stage, faultMs)
      const to = performance.now()
      heal()
      const recoveryMs = await untilEqual(stage, RECOVERY_MS)
      expectPatience(name, stage, from, to, recoveryMs)
      expect(toldOf(stage, 'deleted', 'doomed')).toBe(1)
      expect(toldOf(stage, 'set', 'fleeting')).toBe(toldOf(stage, 'deleted', 'fleeting'))
      await stage.put('afterwards', '1')
      await untilEqual(stage, 2_000)
    } finally {
      await stage.end()
    }
  })

  it('lists that fail from the start', async () => {
    let heal = (): void => undefined
    const begin = all(BROKEN)
    const from = performance.now()
    const stage = await setStage(cluster, { before: (proxy) => (heal = begin(proxy)) })
    try {
      await churn(stage, FAULT_MS)
      expect(stage.events).toEqual([])
      const to = performance.now()
      heal()
      const recoveryMs = await untilEqual(stage, RECOVERY_MS)
      await stage.reflector.hasSynced()
      expectPatience('500 from the start', stage, from, to, recoveryMs)
    } finally {
      await stage.end()
    }
  })

  it('401 until there is a new token', async () => {
    const [old, next] = [await tokenOfAccount(), await tokenOfAccount()]
    const tokenFile = join(cluster.directory, 'token')
    await writeFile(tokenFile, `${old}\n`)
    const stage = await setStage(cluster, { tokenFile })
    try {
      await untilWatching(stage)
      const from = performance.now()
      stage.proxy.fault({ fault: { type: 'refuse-token', token: old } })
      stage.proxy.endWatches()
      await churn(stage, FAULT_MS)
      const to = performance.now()
      expect(toldOf(stage, 'deleted', 'doomed')).toBe(0)
      // The old token stays refused: only the file heals this.
      await writeFile(tokenFile, `${next}\n`)
      const recoveryMs = await untilEqual(stage, RECOVERY_MS)
      expectPatience('401', stage, from, to, recoveryMs)
      expect(toldOf(stage, 'deleted', 'doomed')).toBe(1)
    } finally {
      await stage.end()
    }
  })
})

/** A real token of an account that may read ConfigMaps; each call gives another one. */
async function tokenOfAccount(): Promise<string> {
  const api = connectApi(await readKubeconfig(cluster.kubeconfigPath))
  const { namespace } = cluster
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`
  const group = 'rbac.authorization.k8s.io'
  const binding = {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
  }
  try {
    if ((await api.find(`${accounts}/reader`)) === null) {
      await api.call('POST', accounts, { body: { metadata: { name: 'reader' } } })
      await api.call('POST', bindings, { body: binding })
    }
    const request = { spec: { expirationSeconds: 3_600 + Math.floor(Math.random() * 1_000) } }
    const made = await api.call<{ status: { token: string } }>('POST', `${accounts}/reader/token`, {
      body: request,
    })
    return made.status.token
  } finally {
    api.close()
  }
}
