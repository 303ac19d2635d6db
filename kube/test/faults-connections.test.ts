import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWireProxy } from '../../dev/src/wire-proxy/index.ts'
import type { WireProxy } from '../../dev/src/wire-proxy/index.ts'
import { createKubeClient, isKubeError, NAMESPACES } from '../src/index.ts'
import type { KubeClient } from '../src/index.ts'
import { CONFIG_MAPS, connectToCluster } from './cluster.ts'
import type { Connected } from './fault-stage.ts'

const CALLS = 2_000
const IN_FLIGHT = 20
/** Property O6. */
const MOST_CONNECTIONS = 32

let cluster: Connected
let proxy: WireProxy
let client: KubeClient

beforeAll(async () => {
  cluster = await connectToCluster()
  proxy = await startWireProxy(cluster)
  const path = join(cluster.directory, 'calls')
  await proxy.writeKubeconfig(path)
  client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-calls' })
})
afterAll(async () => {
  await client.close()
  await proxy.close()
  await cluster.end()
})

/** One of what an operator does all day. */
async function callOnce(index: number): Promise<unknown> {
  const key = { name: `call-${index % 50}`, namespace: cluster.namespace }
  if (index % 10 === 0) {
    return client.apply(CONFIG_MAPS, { metadata: key }, { fieldManager: 'test', timeoutMs: 20_000 })
  }
  if (index % 10 === 1) return client.list(CONFIG_MAPS, { namespace: cluster.namespace })
  return index % 2 === 0 ? client.get(CONFIG_MAPS, key) : client.get(NAMESPACES, { name: 'default' })
}

it('2000 calls with 20 in flight share at most 32 TLS connections', async () => {
  const startedAt = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < CALLS) await callOnce(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  const { accepted, list, watch, other } = proxy.counts()
  const perSecond = Math.round((CALLS * 1_000) / (performance.now() - startedAt))
  console.info(`${CALLS} calls, ${IN_FLIGHT} in flight: ${accepted} TLS connections, ${perSecond} calls/s`)
  expect(list + watch + other).toBe(CALLS)
  expect(accepted).toBeLessThanOrEqual(MOST_CONNECTIONS)
})

it('a pool whose connections are all reset serves the next calls', async () => {
  const before = proxy.counts().accepted
  const heal = proxy.fault({ fault: { type: 'reset' } })
  const refused = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, (_, index) => callOnce(index)))
  heal()
  expect(refused.every((each) => each.status === 'rejected' && isKubeError(each.reason))).toBe(true)
  await Promise.all(Array.from({ length: 100 }, (_, index) => callOnce(index)))
  expect(proxy.counts().accepted - before).toBeLessThanOrEqual(2 * MOST_CONNECTIONS)
})
