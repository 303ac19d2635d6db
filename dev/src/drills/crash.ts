import { parseArgs } from 'node:util'
import { FAILPOINTS } from '@service/domain'
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

const world = await startCrashWorld()
let held = 0
let failed = 0
try {
  for (const [index, name] of FAILPOINTS.filter((each) => each.includes(values.only)).entries()) {
    const runRound = TEARDOWN.includes(name) ? teardownRound : crashRound
    let worst = 0
    const faults: string[] = []
    for (let round = 0; round < rounds; round++) {
      try {
        const done = await runRound(world, name, `crash-${index}-${round}`)
        worst = Math.max(worst, done.recoveryMs)
        faults.push(...done.faults)
      } catch (error) {
        faults.push(error instanceof Error ? error.message : String(error))
      }
    }
    if (faults.length === 0) held += 1
    else failed += 1
    console.log(`${name}: ${rounds} rounds, ${faults.length} faults, worst recovery ${Math.round(worst)} ms`)
    for (const fault of faults) console.log(`  ${fault}`)
  }
} finally {
  await world.end()
}
console.log(failed === 0 ? `${held} failpoints held` : `${failed} failpoints did not hold`)
process.exitCode = failed === 0 ? 0 : 1
