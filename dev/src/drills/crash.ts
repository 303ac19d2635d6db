import { parseArgs } from 'node:util'
import { FAILPOINTS } from '@service/domain'
import type { Failpoint } from '@service/domain'
import { crashRound } from './crash/rounds.ts'
import { TEARDOWN, teardownRound } from './crash/teardown.ts'
import { startCrashWorld } from './crash/world.ts'

/**
 * The crash drill: kill -9 of the API, with the operator in it, at each named moment of a tenant's way, many times. Each
 * round has to end in an active tenant with one lifecycle row a transition and Secrets as they were; in a teardown, where
 * the operator alone is killed, in no trace of the tenant and untouched neighbours.
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, only: { type: 'string', default: '' } },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds wants a whole number from 1')

type Outcome = { readonly worstMs: number; readonly faults: readonly string[] }

/** All rounds at one moment, in a world of their own: hundreds of tenants in one would slow each other down. */
async function roundsAt(name: Failpoint): Promise<Outcome> {
  const runRound = TEARDOWN.includes(name) ? teardownRound : crashRound
  const faults: string[] = []
  let worstMs = 0
  const world = await startCrashWorld()
  try {
    for (let round = 0; round < rounds; round++) {
      try {
        const done = await runRound(world, name, `crash-${round}`)
        worstMs = Math.max(worstMs, done.recoveryMs)
        faults.push(...done.faults)
      } catch (error) {
        faults.push(`round ${round}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  } finally {
    await world.end()
  }
  return { worstMs, faults }
}

let failed = 0
const moments = FAILPOINTS.filter((each) => each.includes(values.only))
for (const name of moments) {
  const began = performance.now()
  const { worstMs, faults } = await roundsAt(name)
  if (faults.length > 0) failed += 1
  const seconds = Math.round((performance.now() - began) / 1_000)
  console.log(
    `${name}: ${rounds} rounds, ${faults.length} faults, worst recovery ${Math.round(worstMs)} ms (${seconds} s)`,
  )
  for (const fault of faults) console.log(`  ${fault}`)
}
console.log(
  failed === 0
    ? `${moments.length} failpoints held`
    : `${failed} of ${moments.length} failpoints did not hold`,
)
process.exitCode = failed === 0 && moments.length > 0 ? 0 : 1
