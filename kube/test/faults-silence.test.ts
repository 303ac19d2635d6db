import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWireProxy } from '../../dev/src/wire-proxy/index.ts'
import { createKubeClient, startReflector } from '../src/index.ts'
import type { ReflectorTuning, ResourceType } from '../src/index.ts'
import { connectToCluster } from './cluster.ts'
import { setStage, untilEqual, untilWatching } from './fault-stage.ts'
import type { Connected } from './fault-stage.ts'

/** Property O1. */
const NOTICED_MS = 75_000
/** Longer than the silence limit: a watch that lives through it would live on. */
const QUIET_MS = 78_000
/** Nobody makes any here, so that only what the reflector does itself keeps its watch alive. */
const CRON_JOBS: ResourceType = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  namespaced: true,
}

let cluster: Connected

vi.setConfig({ testTimeout: 100_000 })

beforeAll(async () => {
  cluster = await connectToCluster()
})
afterAll(() => cluster.end())

/** Kills the open watch silently, while everything else works, and tells how long the cache was behind. */
async function silence(limitMs: number, tuning: Partial<ReflectorTuning>): Promise<string[]> {
  const stage = await setStage(cluster, { tuning })
  try {
    await untilWatching(stage)
    const heal = stage.proxy.fault({ kinds: ['watch'], fault: { type: 'blackhole' } })
    heal()
    await stage.put('kept', '1')
    await stage.put('new', '1')
    await stage.remove('doomed')
    await sleep(500)
    expect(await stage.differences()).not.toEqual([])
    const tookMs = await untilEqual(stage, limitMs)
    console.info(`a watch blackholed: equal after ${(tookMs / 1_000).toFixed(1)} s`)
    expect(stage.events.filter((each) => each.type === 'deleted')).toHaveLength(1)
    return stage.errors.map(String)
  } finally {
    await stage.end()
  }
}

describe.concurrent('a watch without a byte', () => {
  it('is noticed within the limit that was asked for', async () => {
    const errors = await silence(6_000 + 2_000, { silenceMs: 6_000 })
    expect(errors).toEqual([expect.stringContaining('Silent')])
  })

  it('is noticed within 75 s', async () => {
    const errors = await silence(NOTICED_MS, {})
    expect(errors).toEqual([expect.stringContaining('Silent')])
  })

  it('never reconnects when it is healthy and quiet', async () => {
    const proxy = await startWireProxy(cluster)
    const path = join(cluster.directory, 'quiet')
    await proxy.writeKubeconfig(path)
    const client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-quiet' })
    const errors: unknown[] = []
    const { namespace } = cluster
    const onEvent = (): void => undefined
    const onError = (error: unknown): void => void errors.push(error)
    const reflector = startReflector({ client, type: CRON_JOBS, namespace, onEvent, onError })
    try {
      await reflector.hasSynced()
      await sleep(QUIET_MS)
      const { watch, list, accepted } = proxy.counts()
      console.info(
        `a quiet watch for ${QUIET_MS / 1_000} s: ${watch} watch, ${list} lists, ${accepted} connections`,
      )
      expect(errors).toEqual([])
      expect(watch).toBe(1)
      expect(reflector.silenceSeconds()).toBeLessThan(QUIET_MS / 1_000)
    } finally {
      await reflector.stop()
      await client.close()
      await proxy.close()
    }
  })
})
