import { CHECKPOINT_OVERLAP_MS } from '@service/domain'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bodyOf, encode, fits, halves } from './batch.ts'
import { mapAlert } from './map.ts'
import { createRecent, isBehind, readFrom } from './position.ts'
import { createStatus, healthOf, metricsOf } from './status.ts'

const encoded = (id: string) => {
  const mapped = mapAlert({ id, index: 'i', source: { rule: { level: 1 }, full_log: '😀' } }, new Date(0))
  if ('dropped' in mapped) throw new Error(mapped.dropped)
  return encode(mapped.event)
}

describe('positions', () => {
  const position = fc.record({ time: fc.integer({ min: 0, max: 3 }), id: fc.string({ maxLength: 2 }) })
  it('are a total order: of two different ones exactly one is behind', () => {
    fc.assert(
      fc.property(position, position, (left, right) => {
        const same = left.time === right.time && left.id === right.id
        expect([isBehind(left, right), isBehind(right, left)].filter(Boolean)).toHaveLength(same ? 0 : 1)
        expect(isBehind(left, null)).toBe(true)
      }),
    )
  })

  it('are read again five minutes back at the start and regularly after', () => {
    const cursor = { time: 10 * CHECKPOINT_OVERLAP_MS, id: 'x' }
    const back = (pass: number) => cursor.time - (readFrom(cursor, pass)?.getTime() ?? 0)
    expect(back(0)).toBe(CHECKPOINT_OVERLAP_MS)
    expect(back(6)).toBe(CHECKPOINT_OVERLAP_MS)
    expect(back(1)).toBeLessThan(CHECKPOINT_OVERLAP_MS)
    expect(back(1)).toBeGreaterThan(0)
    expect(readFrom(null, 0)).toBeNull()
  })
})

it('recent forgets the oldest first, and what is seen again is young again', () => {
  const recent = createRecent(2)
  for (const key of ['a', 'b', 'a', 'c']) recent.add(key)
  expect(['a', 'b', 'c'].map((key) => recent.has(key))).toEqual([true, false, true])
})

describe('batches', () => {
  it('hold by number and by the bytes of the body', () => {
    const one = encoded('1')
    expect(fits([], one, 1)).toBe(true)
    expect(fits([one], one, 1)).toBe(false)
    const list = Array.from({ length: 50 }, (_, index) => encoded(String(index)))
    const body = Buffer.byteLength(bodyOf(list, Number.MAX_SAFE_INTEGER))
    const limit = body + 300
    expect(fits(list.slice(1), encoded('0'), 500, limit)).toBe(true)
    const filled = list.reduce(
      (batch: typeof list, next) => (fits(batch, next, 500, 4_000) ? [...batch, next] : batch),
      [],
    )
    expect(Buffer.byteLength(bodyOf(filled, Number.MAX_SAFE_INTEGER))).toBeLessThanOrEqual(4_000)
    expect(JSON.parse(bodyOf(filled, 7))).toMatchObject({ batch_seq: 7, schema_version: 1 })
  })

  it('halves lose nothing', () => {
    expect(halves([1, 2, 3])).toEqual([[1, 2], [3]])
  })
})

describe('health', () => {
  const well = () => ({ ...createStatus(), lastReadAt: 100, lastSentAt: 100 })
  it('is ok only while both ends work and the last read is young', () => {
    expect(healthOf(createStatus(), 0, 10)).toBe('starting')
    expect(healthOf(well(), 105, 10)).toBe('ok')
    expect(healthOf(well(), 111, 10)).toBe('stalled')
    expect(healthOf({ ...well(), source: 'unreachable' }, 105, 10)).toBe('indexer_unreachable')
    expect(healthOf({ ...well(), api: 'unauthorized', source: 'failing' }, 105, 10)).toBe('api_unauthorized')
    expect(healthOf({ ...well(), lastSentAt: null }, 105, 10)).toBe('starting')
  })

  it('has a lag only while it is behind', () => {
    const behind = { ...createStatus(), lastEventAt: 1_000 }
    expect(metricsOf(behind, 61_000)).toMatchObject({
      lag_seconds: 60,
      last_event_at: '1970-01-01T00:00:01.000Z',
    })
    expect(metricsOf({ ...behind, caughtUp: true }, 61_000)).toMatchObject({ lag_seconds: 0 })
    expect(metricsOf(createStatus(), 5)).toMatchObject({ lag_seconds: null, last_event_at: null })
  })
})
