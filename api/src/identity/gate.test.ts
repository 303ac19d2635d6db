import { ServiceError } from '@service/domain'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGate } from './gate.ts'

type Task = { readonly start: Promise<unknown>; finish(ok: boolean): void }

/** Work that ends when it is told to. */
function task(gate: ReturnType<typeof createGate>, onStart: () => void, onEnd: () => void): Task {
  let finish: (ok: boolean) => void = () => undefined
  const done = new Promise<void>((resolve, reject) => {
    finish = (ok) => (ok ? resolve() : reject(new Error('work')))
  })
  const start = gate(async () => {
    onStart()
    await done.finally(onEnd)
  })
  start.catch(() => undefined)
  done.catch(() => undefined)
  return { start, finish: (ok) => finish(ok) }
}

test('never more than `parallel` at once, never more than `queued` waiting, and no place is lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 4 }),
      fc.array(fc.tuple(fc.constantFrom('add', 'end'), fc.boolean()), { maxLength: 60 }),
      async (parallel, queued, steps) => {
        const gate = createGate({ parallel, queued })
        let running = 0
        let most = 0
        const open: Task[] = []
        const begin = () => {
          running += 1
          most = Math.max(most, running)
        }
        const end = () => {
          running -= 1
        }
        for (const [step, ok] of steps) {
          if (step === 'end') open.shift()?.finish(ok)
          else {
            const room = open.length < parallel + queued
            const added = task(gate, begin, end)
            if (room) open.push(added)
            else await expect(added.start).rejects.toMatchObject({ code: 'unavailable' })
          }
          await new Promise((resolve) => setImmediate(resolve))
          expect(running).toBe(Math.min(open.length, parallel))
        }
        for (const each of open) each.finish(true)
        await Promise.allSettled(open.map((each) => each.start))
        expect(most).toBeLessThanOrEqual(parallel)
        expect(running).toBe(0)
      },
    ),
    { numRuns: 200 },
  )
})

test('whoever is refused learns when to come back', async () => {
  const gate = createGate({ parallel: 1, queued: 0 })
  const first = task(
    gate,
    () => undefined,
    () => undefined,
  )
  const refused: unknown = await gate(() => Promise.resolve()).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ServiceError)
  expect((refused as ServiceError).extras.retryAfter).toBeGreaterThan(0)
  first.finish(true)
  await first.start
})
