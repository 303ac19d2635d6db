import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { startController } from './controller.ts'
import type { ReconcileOutcome } from './controller.ts'
import { createMetrics } from './metrics.ts'

const start = (reconcile: (key: string) => Promise<ReconcileOutcome>, concurrency = 3) => {
  const registry = new Registry()
  const failures: string[] = []
  const controller = startController({
    concurrency,
    resyncMs: 3_600_000,
    backoff: { firstMs: 20, maxMs: 40 },
    reconcile,
    onFailure: (key) => failures.push(key),
    metrics: createMetrics(registry, concurrency),
  })
  return { controller, registry, failures }
}
const settled = { requeueAfterMs: null }

describe('the controller', () => {
  it('works on at most so many keys at once, and never twice on one', async () => {
    const running = new Set<string>()
    let most = 0
    let runs = 0
    const { controller } = start(async (key) => {
      expect(running.has(key)).toBe(false)
      running.add(key)
      most = Math.max(most, running.size)
      await sleep(Math.random() * 5)
      running.delete(key)
      runs += 1
      return settled
    })
    for (let round = 0; round < 20; round++) {
      for (let key = 0; key < 10; key++) controller.add(`k${key}`, key % 2 === 0 ? 'live' : 'resync')
      await sleep(2)
    }
    await sleep(100)
    await controller.stop()
    expect(most).toBe(3)
    expect(runs).toBeGreaterThanOrEqual(10)
    expect(running.size).toBe(0)
  })

  it('tries a failed key again with pauses, and counts', async () => {
    let tries = 0
    const { controller, registry, failures } = start(async () => {
      tries += 1
      if (tries < 3) throw new Error('not yet')
      return settled
    })
    controller.add('a', 'live')
    await sleep(250)
    await controller.stop()
    expect(tries).toBe(3)
    expect(failures).toEqual(['a', 'a'])
    const text = await registry.metrics()
    expect(text).toContain('controller_runtime_reconcile_total{controller="tenant",result="error"} 2')
    expect(text).toContain('controller_runtime_reconcile_total{controller="tenant",result="success"} 1')
    expect(text).toContain('workqueue_depth{name="tenant"} 0')
  })

  it('waits without holding a worker', async () => {
    const seen: string[] = []
    const { controller } = start(async (key) => {
      seen.push(key)
      return { requeueAfterMs: key === 'patient' && seen.length < 3 ? 50 : null }
    }, 1)
    controller.add('patient', 'live')
    controller.add('other', 'live')
    await sleep(200)
    await controller.stop()
    expect(seen).toEqual(['patient', 'other', 'patient'])
  })

  it('takes a change before the looks that the clock asks for', async () => {
    const seen: string[] = []
    const { controller } = start(async (key) => {
      seen.push(key)
      if (key === 'long') await sleep(60)
      return { requeueAfterMs: key === 'patient' && seen.length === 1 ? 10 : null }
    }, 1)
    controller.add('patient', 'live')
    await sleep(5)
    controller.add('long', 'live')
    await sleep(30)
    controller.add('changed', 'live')
    await sleep(100)
    await controller.stop()
    expect(seen).toEqual(['patient', 'long', 'changed', 'patient'])
  })

  it('forgets what is gone', async () => {
    let runs = 0
    const { controller } = start(async () => {
      runs += 1
      return { requeueAfterMs: null, gone: true }
    })
    controller.add('a', 'live')
    await sleep(50)
    await controller.stop()
    expect(runs).toBe(1)
  })

  it('starts nothing once it stops, and waits for what runs', async () => {
    let ended = false
    const { controller } = start(async () => {
      await sleep(50)
      ended = true
      return settled
    })
    controller.add('a', 'live')
    const stopped = controller.stop()
    controller.add('b', 'live')
    await stopped
    expect(ended).toBe(true)
  })
})
