import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureTools } from '../dev/src/cluster/tools.ts'

/**
 * Runs the test projects one after the other and ends with one line of true totals over all of them.
 * Arguments after `--` go to vitest.
 */
const PROJECTS = ['unit', 'system', 'e2e'] as const

type Totals = { passed: number; failed: number; skipped: number }
type Report = {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numFailedTestSuites: number
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[]
}

function run(project: string, rest: readonly string[]): Totals {
  const directory = mkdtempSync(join(tmpdir(), 'service-test-'))
  const output = join(directory, 'report.json')
  console.log(`\n== ${project}`)
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      project,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${output}`,
      ...rest,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  try {
    return totalsOf(JSON.parse(readFileSync(output, 'utf8')) as Report, status)
  } catch {
    console.error(`${project}: the test runner wrote no report (exit code ${status})`)
    return { passed: 0, failed: 1, skipped: 0 }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A file that fails before its first test, and a runner that fails without a failed test, count as one failure. */
function totalsOf(report: Report, status: number | null): Totals {
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  ).length
  const failed = report.numFailedTests + broken
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { project: { type: 'string', multiple: true } },
})
const projects = values.project ?? [...PROJECTS]
if (projects.some((name) => name !== 'unit')) await ensureTools({ progress: (line) => console.log(line) })

const totals: Totals = { passed: 0, failed: 0, skipped: 0 }
for (const project of projects) {
  const { passed, failed, skipped } = run(project, positionals)
  totals.passed += passed
  totals.failed += failed
  totals.skipped += skipped
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1
