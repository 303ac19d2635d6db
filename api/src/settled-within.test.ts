import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { settledWithin } from './settled-within.ts'

test('waits for all, also for what fails', async () => {
  let done = false
  const slow = sleep(30).then(() => (done = true))
  expect(await settledWithin(5_000, [slow, Promise.reject(new Error('no')), undefined])).toBe(true)
  expect(done).toBe(true)
})
test('does not wait for what never ends', async () => {
  const began = performance.now()
  expect(await settledWithin(50, [new Promise(() => undefined)])).toBe(false)
  expect(performance.now() - began).toBeLessThan(2_000)
})
