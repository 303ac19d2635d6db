import { expect, test } from 'vitest'
import { createFailpoint } from './failpoint.ts'

test('kills once, at the nth time of the moment that is armed', () => {
  let killed = 0
  const hit = createFailpoint({ name: 'api.create.committed', hit: 3 }, () => (killed += 1))
  for (const name of ['api.create.committed', 'api.events.committed', 'api.create.committed'] as const)
    hit(name)
  expect(killed).toBe(0)
  hit('api.create.committed')
  hit('api.create.committed')
  expect(killed).toBe(1)
})
test('does nothing when none is armed', () => {
  let killed = 0
  createFailpoint(null, () => (killed += 1))('api.create.committed')
  expect(killed).toBe(0)
})
