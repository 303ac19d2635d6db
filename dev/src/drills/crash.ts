import { parseArgs } from 'node:util'
import { FAILPOINTS } from '@service/domain'
import type { Failpoint } from '@service/domain'
import { crashLives, crashRound, ONBOARDING } from './crash/rounds.ts'
import { TEARDOWN, teardownRound } from './crash/teardown.ts'
import { startCrashWorld } from './crash/world.ts'
import type { CrashWorld } from './crash/world.ts'

/**
 * The crash drill: kill -9 of the API, with the operator in it, at each named moment of a tenant's way, many times. Each
 * death has to end in active tenants with one lifecycle row a transition and Secrets as they were; in a teardown, where
 * the operator alone is killed, in no trace of the tenant and untouched neighbours.
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, only: { type: 'string' } },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds wants a whole number from 1')

type Outcome = { readonly deaths: number; readonly worstMs: number; readonly faults: readonly string[] }

/** Work in a world of its own: the hundreds of tenants of all rounds in one would slow each other down. */
async function inWorld(work: (world: CrashWorld) => Promise<Outcome>): Promise<Outcome> {
  const world = await startCrashWorld()
  try {
    return await work(world)
  } catch (error) {
    return { deaths: 0, worstMs: 0, faults: [error instanceof Error ? error.message : String(error)] }
  } finally {
    await world.end()
  }
}

/** A death at each moment of an onboarding, one after the other: whoever takes over is the next to die. */
const life = (): Promise<Outcome> =>
  inWorld(async (world) => {
    const { deaths, recoveryMs, faults } = await crashLives(world, 'life')
    const missing = deaths === ONBOARDING.length ? [] : [`${deaths} deaths instead of ${ONBOARDING.length}`]
    return { deaths, worstMs: recoveryMs, faults: [...faults, ...missing] }
  })

/** One moment alone, with a tenant for each round. */
const roundsAt = (name: Failpoint): Promise<Outcome> =>
  inWorld(async (world) => {
    const runRound = TEARDOWN.includes(name) ? teardownRound : crashRound
    const done = []
    for (let round = 0; round < rounds; round++) done.push(await runRound(world, name, `crash-${round}`))
    return {
      deaths: rounds,
      worstMs: Math.max(...done.map(({ recoveryMs }) => recoveryMs)),
      faults: done.flatMap(({ faults }) => faults),
    }
  })

const totals = { deaths: 0, faults: 0 }
async function report(name: string, work: Promise<Outcome>): Promise<void> {
  const began = performance.now()
  const { deaths, worstMs, faults } = await work
  totals.deaths += deaths
  totals.faults += faults.length
  const seconds = Math.round((performance.now() - began) / 1_000)
  const recovery = `recovered within ${Math.round(worstMs)} ms`
  console.log(
    [`${name}: ${deaths} deaths, ${faults.length} faults, ${recovery} (${seconds} s)`, ...faults].join(
      '\n  ',
    ),
  )
}

const { only } = values
if (only === undefined) {
  for (let round = 1; round <= rounds; round++) {
    await report(`life ${round} of ${rounds}, ${ONBOARDING.length} moments`, life())
  }
}
const alone = FAILPOINTS.filter((name) =>
  only === undefined ? !ONBOARDING.includes(name) : name.includes(only),
)
for (const name of alone) await report(name, roundsAt(name))
console.log(`${totals.deaths} deaths, ${totals.faults} faults`)
process.exitCode = totals.faults === 0 && totals.deaths > 0 ? 0 : 1
