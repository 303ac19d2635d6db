import { expect, test } from 'vitest'
import { armFailpoint, parseFailpoint } from './failpoints.ts'

test('kills once, at the nth time of the moment that is armed', () => {
  let killed = 0
  const hit = armFailpoint({ name: 'api.create.committed', hit: 3 }, () => (killed += 1))
  for (const name of ['api.create.committed', 'api.events.committed', 'api.create.committed'] as const)
    hit(name)
  expect(killed).toBe(0)
  hit('api.create.committed')
  hit('api.create.committed')
  expect(killed).toBe(1)
})
test('does nothing when none is armed', () => {
  let killed = 0
  armFailpoint(null, () => (killed += 1))('api.create.committed')
  expect(killed).toBe(0)
})

test.each([
  ['api.create.committed', { name: 'api.create.committed', hit: 1 }],
  ['operator.release.installed:12', { name: 'operator.release.installed', hit: 12 }],
  ['api.nowhere', undefined],
  ['api.create.committed:0', undefined],
  ['api.create.committed:', undefined],
  ['', undefined],
])('reads %j', (text, armed) => {
  expect(parseFailpoint(text)).toEqual(armed)
})
