import { parseArgs } from 'node:util'
import { startTemporarySystem } from '../system/temporary.ts'
import { type Caller, prepareCallers } from './fuzz/callers.ts'
import { type Figures, noFigures } from './fuzz/figures.ts'
import { type Run, runAs } from './fuzz/run.ts'
import { ensureSchemathesis } from './fuzz/schemathesis.ts'

/**
 * Requests that schemathesis makes up from the OpenAPI document, valid and invalid ones, against a running system, as
 * everybody from nobody to the platform administrator: no server error, and no answer that the document does not know.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    examples: { type: 'string', default: '25' },
    as: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  },
})
const [seed, examples] = [Number(values.seed), Number(values.examples)]
if (!Number.isSafeInteger(seed) || !(examples >= 1))
  throw new Error('--seed and --examples want whole numbers')

/** Ends the caller's own session: it comes when there is nothing left to call. */
const LAST = 'auth.logout'

async function call(caller: Caller, run: Run): Promise<boolean> {
  const began = performance.now()
  const figures = noFigures()
  const outputs = [await runAs(caller, run, ['--exclude-operation-id', LAST], figures)]
  // Whoever is unknown by now was refused everywhere, and has shown nothing.
  if (!(await caller.isKnown())) figures.findings.set('the session has ended on the way', '')
  outputs.push(await runAs(caller, run, ['--include-operation-id', LAST], figures))
  print(caller.name, figures, (performance.now() - began) / 1_000)
  if (figures.findings.size > 0 || values.verbose) console.log(outputs.join('\n'))
  return figures.findings.size === 0
}

function print(name: string, figures: Figures, seconds: number): void {
  const { operations, requests, checks, statuses, findings } = figures
  const answers = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  console.log(
    `${name}: ${operations.size} operations, ${requests} requests in ${seconds.toFixed(0)} s, ` +
      `${checks} checks, ${findings.size} findings`,
  )
  console.log(`  answers ${answers.join(', ')}`)
  for (const [finding, example] of findings) console.log(`  ${finding}\n    ${example.replaceAll('\n', ' ')}`)
}

async function main(): Promise<boolean> {
  const python = await ensureSchemathesis((line) => console.log(line))
  const world = await startTemporarySystem('fuzz', () => ({ separateOperator: true }))
  try {
    const callers = (await prepareCallers(world.system)).filter(({ name }) => name.includes(values.as))
    const url = world.system.connection().mssp_url.replace('localhost', '127.0.0.1')
    const run = { python, url, directory: world.directory, seed, examples }
    console.log(`seed ${seed}, ${examples} examples an operation and phase; ${LAST} comes last each time`)
    let held = true
    for (const [index, caller] of callers.entries()) {
      await Promise.all(callers.slice(index).map(({ isKnown }) => isKnown()))
      held = (await call(caller, run)) && held
    }
    return held
  } finally {
    await world.end()
  }
}

const held = await main()
console.log(held ? 'all held' : 'something did not hold')
process.exit(held ? 0 : 1)
