import { expect, it } from 'vitest'
import { drillPostgres, faultsOf, lineOf } from '../src/drills/postgres.ts'

it('the database driver survives restarts, kills and resets', { timeout: 90_000 }, async () => {
  const all = await drillPostgres({ short: true, report: (each) => console.info(lineOf(each)) })
  expect(all.map((each) => each.name)).toEqual([
    'restarts',
    'kills',
    'resets',
    'refusals',
    'partitions',
    'pipeline',
    'strays',
  ])
  for (const each of all) {
    expect(faultsOf(each), lineOf(each)).toBe(0)
  }
  // The faults have struck: without them nothing here would fail.
  for (const each of all.filter(({ name }) => name !== 'pipeline')) {
    expect(each.failed, each.name).toBeGreaterThan(0)
    expect(each.acknowledged, each.name).toBeGreaterThan(0)
  }
})
