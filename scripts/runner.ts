import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Totals = { readonly passed: number; readonly failed: number; readonly skipped: number }
export const NONE: Totals = { passed: 0, failed: 0, skipped: 0 }

type Report = {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numFailedTestSuites: number
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[]
}

/** Runs one test project; what goes wrong around the tests counts as one failure. */
export function runProject(
  project: string,
  rest: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Totals {
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
    { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } },
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

export const sum = (...all: readonly Totals[]): Totals => ({
  passed: all.reduce((total, { passed }) => total + passed, 0),
  failed: all.reduce((total, { failed }) => total + failed, 0),
  skipped: all.reduce((total, { skipped }) => total + skipped, 0),
})

/** The last line of every runner, which `.ci/run` adds up. */
export const totalsLine = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
