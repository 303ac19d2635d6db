import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createKeyedWorker } from './keyed-worker.ts'

test('keeps the newest value of a waiting key and never works twice at once on one key', async () => {
  const begun: string[] = []
  const gates: (() => void)[] = []
  let atOnce = 0
  const worker = createKeyedWorker<string>({
    concurrency: 2,
    work: async (value) => {
      begun.push(value)
      atOnce += 1
      expect(atOnce).toBeLessThanOrEqual(2)
      await new Promise<void>((resolve) => gates.push(resolve))
      atOnce -= 1
    },
    onError: () => undefined,
  })
  worker.put('a', 'a1')
  worker.put('a', 'a2')
  worker.put('a', 'a3')
  worker.put('b', 'b1')
  worker.put('c', 'c1')
  expect(begun).toEqual(['a1', 'b1'])
  while (begun.length < 4 || gates.length > 0) {
    gates.shift()?.()
    await sleep(1)
  }
  await worker.stop()
  expect(begun.toSorted()).toEqual(['a1', 'a3', 'b1', 'c1'])
})

test('a failure is tried again, with a newer value if there is one', async () => {
  vi.useFakeTimers()
  try {
    const seen: number[] = []
    const errors: string[] = []
    const worker = createKeyedWorker<number>({
      concurrency: 1,
      work: async (value) => {
        seen.push(value)
        if (value < 3) throw new Error('not yet')
      },
      onError: (_error, key) => errors.push(key),
    })
    worker.put('a', 1)
    await vi.advanceTimersByTimeAsync(1)
    worker.put('a', 2)
    await vi.advanceTimersByTimeAsync(1)
    worker.put('a', 3)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual(expect.arrayContaining([1, 2, 3]))
    expect(errors).toEqual(expect.arrayContaining(['a']))
    const count = seen.length
    await vi.advanceTimersByTimeAsync(600_000)
    expect(seen.length).toBe(count)
    await worker.stop()
  } finally {
    vi.useRealTimers()
  }
})
