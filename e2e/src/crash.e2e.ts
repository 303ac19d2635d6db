import { FAILPOINTS } from '@service/domain'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BROKEN, crashLives, crashRound, ONBOARDING } from '../../dev/src/drills/crash/rounds.ts'
import { TEARDOWN, teardownRound } from '../../dev/src/drills/crash/teardown.ts'
import { startCrashWorld } from '../../dev/src/drills/crash/world.ts'
import type { CrashWorld } from '../../dev/src/drills/crash/world.ts'

const DEATHS = 25

let world: CrashWorld
let deaths = 0
beforeAll(async () => {
  world = await startCrashWorld()
}, 900_000)
afterAll(async () => {
  await world?.end()
})

it('knows of every moment where it is reached', () => {
  const known = [...ONBOARDING, ...BROKEN, ...TEARDOWN]
  expect(known.toSorted()).toEqual([...FAILPOINTS].toSorted())
})

it('tenants are killed at every moment of their way, one after the other, and nobody can tell', async () => {
  for (const slug of ['one', 'two']) {
    const lives = await crashLives(world, slug)
    expect(lives.faults).toEqual([])
    expect(lives.deaths).toBe(ONBOARDING.length)
    deaths += lives.deaths
    console.log(
      `${lives.deaths} deaths, ${lives.tenants} tenants, recovered within ${Math.round(lives.recoveryMs)} ms`,
    )
  }
  console.log(`${deaths} deaths`)
  expect(deaths).toBeGreaterThanOrEqual(DEATHS)
}, 420_000)

it('a failed installation is rolled back and tried again across deaths', async () => {
  const { faults, recoveryMs } = await crashRound(world, 'operator.rollback.uninstalled', 'broken')
  console.log(`recovered within ${Math.round(recoveryMs)} ms`)
  expect(faults).toEqual([])
}, 180_000)

it('a teardown is finished by the next operator, and touches nobody else', async () => {
  const { faults, recoveryMs } = await teardownRound(world, 'operator.teardown.uninstalled', 'leaving')
  console.log(`gone within ${Math.round(recoveryMs)} ms`)
  expect(faults).toEqual([])
}, 180_000)
