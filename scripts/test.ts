import { parseArgs } from 'node:util'
import { ensureTools } from '../dev/src/cluster/tools.ts'
import { printTotals, runProject, sum } from './runner.ts'

/**
 * Runs the test projects one after the other and ends with one line of true totals over all of them.
 * Arguments after `--` go to vitest.
 */
const PROJECTS = ['unit', 'system', 'e2e'] as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { project: { type: 'string', multiple: true } },
})
const projects = values.project ?? [...PROJECTS]
if (projects.some((name) => name !== 'unit')) await ensureTools({ progress: (line) => console.log(line) })

const totals = sum(...projects.map((project) => runProject(project, positionals)))
printTotals(totals)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1
