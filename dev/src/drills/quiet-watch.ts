import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  createKubeClient,
  DEPLOYMENTS,
  LEASES,
  NAMESPACES,
  startReflector,
  STATEFUL_SETS,
} from '@service/kube'
import { startEmbeddedCluster } from '../cluster/embedded.ts'
import { startWireProxy } from '../wire-proxy/index.ts'
import type { WireProxy } from '../wire-proxy/index.ts'

/**
 * Does a healthy watch with nothing to tell ever reconnect? Reflectors of several kinds, in a namespace where nothing
 * happens, on a control plane of their own, counted at a proxy. Ends with 1 when any of them has watched more than once.
 */
const KINDS = [NAMESPACES, DEPLOYMENTS, STATEFUL_SETS, LEASES]

async function watchQuietly(kubeconfigPath: string, proxy: WireProxy, minutes: number): Promise<number> {
  const client = createKubeClient({ kubeconfigPath, userAgent: 'drill-quiet-watch' })
  const errors: string[] = []
  const reflectors = KINDS.map((type) =>
    startReflector({
      client,
      type,
      ...(type.namespaced ? { namespace: 'default' } : {}),
      onEvent: () => undefined,
      onError: (error) => errors.push(String(error)),
    }),
  )
  await Promise.all(reflectors.map((each) => each.hasSynced()))
  await sleep(minutes * 60_000)
  const silence = reflectors.map((each) => Math.round(each.silenceSeconds()))
  await Promise.all(reflectors.map((each) => each.stop()))
  await client.close()
  let reconnects = 0
  for (const [index, { plural }] of KINDS.entries()) {
    const seen = proxy.requests.filter((each) => each.resource === plural)
    const watches = seen.filter((each) => each.kind === 'watch').length
    reconnects += watches - 1
    const asked = seen.length - watches
    console.log(`${plural}: ${watches - 1} reconnects, ${asked} lists, last byte ${silence[index]} s ago`)
  }
  for (const error of errors) console.log(error)
  return reconnects + errors.length
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const directory = await mkdtemp(join(tmpdir(), 'service-drill-watch-'))
const cluster = await startEmbeddedCluster({ dataDir: directory, simulation: false })
try {
  const proxy = await startWireProxy(cluster)
  const path = join(directory, 'proxied')
  await proxy.writeKubeconfig(path)
  const faults = await watchQuietly(path, proxy, Number(values.minutes))
  await proxy.close()
  console.log(faults === 0 ? 'no watch has reconnected' : 'a healthy watch has reconnected')
  process.exitCode = faults === 0 ? 0 : 1
} finally {
  await cluster.stop()
  await rm(directory, { recursive: true, force: true })
}
