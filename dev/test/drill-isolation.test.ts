import { expect, it } from 'vitest'
import { drillIsolation } from '../src/drills/isolation.ts'

it(
  'a pool shared by ten tenants shows none another’s row, whatever fails in it',
  { timeout: 60_000 },
  async () => {
    const figures = await drillIsolation({ transactions: 2000 })
    console.info(JSON.stringify(figures))
    expect(figures).toMatchObject({ foreign: 0, blind: 0, crossed: 0 })
    // The faults have struck: without them nothing here would fail.
    for (const name of ['committed', 'thrown', 'cancelled', 'killed'] as const)
      expect(figures[name], name).toBeGreaterThan(0)
  },
)
