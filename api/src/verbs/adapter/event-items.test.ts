import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readItem } from './event-items.ts'

const event = (change: object = {}) => ({ source_event_id: 'e1', severity: 5, ...change })
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

const entities = (count: number) => Array.from({ length: count }, () => ({ type: 'ip', value: '192.0.2.1' }))

test.each([
  ['exactly as deep as allowed', event({ raw: nested(31) }), true],
  ['one level deeper', event({ raw: nested(32) }), false],
  ['severity 15', event({ severity: 15 }), true],
  ['severity 16', event({ severity: 16 }), false],
  ['severity -1', event({ severity: -1 }), false],
  ['severity 1.5', event({ severity: 1.5 }), false],
  ['severity as text', event({ severity: '5' }), false],
  ['an empty id', event({ source_event_id: '' }), false],
  ['an id of 128 characters', event({ source_event_id: '😀'.repeat(128) }), true],
  ['an id of 129 characters', event({ source_event_id: 'x'.repeat(129) }), false],
  ['a title of 255', event({ title: 'x'.repeat(255) }), true],
  ['a title of 256', event({ title: 'x'.repeat(256) }), false],
  ['a log of 4096', event({ full_log: 'x'.repeat(4096) }), true],
  ['a log of 4097', event({ full_log: 'x'.repeat(4097) }), false],
  ['64 entities', event({ entities: entities(64) }), true],
  ['65 entities', event({ entities: entities(65) }), false],
  ['16 groups', event({ rule_groups: Array(16).fill('g') }), true],
  ['17 groups', event({ rule_groups: Array(17).fill('g') }), false],
  ['an unknown key', event({ something_new: [1] }), true],
  ['nothing', null, false],
  ['a list', [], false],
  ['a text', 'event', false],
])('%s', (_, value, ok) => {
  expect(readItem(value).ok).toBe(ok)
})

test('NUL and lone surrogates become U+FFFD everywhere, also deep inside raw and in its keys', () => {
  const item = readItem(
    event({ title: 'a\u0000b\uD800', raw: { 'k\u0000': ['\uDC00x', { deep: 'y\u0000' }], __proto__: 1 } }),
  )
  expect(item).toMatchObject({
    ok: true,
    event: { title: 'a\uFFFDb\uFFFD', raw: { 'k\uFFFD': ['\uFFFDx', { deep: 'y\uFFFD' }] } },
  })
})

test('a key that names a prototype stays a key', () => {
  const item = readItem(JSON.parse('{"source_event_id":"e","severity":1,"raw":{"a":{"__proto__":{"x":1}}}}'))
  expect(item.ok && JSON.stringify(item.event.raw)).toBe('{"a":{"__proto__":{"x":1}}}')
  expect(({} as { x?: number }).x).toBeUndefined()
})

test('source and id do not run into each other', () => {
  const keyOf = (source: string, id: string) => {
    const item = readItem(event({ source, source_event_id: id }))
    return item.ok ? item.key : null
  }
  expect(keyOf('a:b', 'c')).not.toBe(keyOf('a', 'b:c'))
  expect(keyOf('a","b', 'c')).not.toBe(keyOf('a', 'b","c'))
})

test('no value can make it throw, and what is accepted can be stored', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (raw, id) => {
      const item = readItem({ source_event_id: id, severity: 3, raw })
      if (item.ok) expect(JSON.stringify(item.event)).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/)
    }),
  )
})
