import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from './ids.ts'

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids are UUIDv7, ascend and differ, whatever the clock does', () => {
  // Beyond every other test’s moment, so that this one’s clock decides.
  let now = Date.parse('2100-01-01T00:00:00Z')
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 50 }), (steps) => {
      let last = ''
      for (const step of steps) {
        now += step
        const id = newId(() => new Date(now))
        expect(id).toMatch(V7)
        expect(id > last).toBe(true)
        last = id
      }
    }),
  )
})

test('20 000 ids of one millisecond ascend, too', () => {
  const at = new Date('2200-01-01T00:00:00Z')
  const ids = Array.from({ length: 20_000 }, () => newId(() => at))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  expect(Number.parseInt((ids[0] ?? '').replaceAll('-', '').slice(0, 12), 16)).toBe(at.getTime())
})
