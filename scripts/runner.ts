import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

export type Totals = {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What failed, a line each, for the end of the output: a long log is often read from its end only. */
  readonly failures: readonly string[]
}
export const NONE: Totals = { passed: 0, failed: 0, skipped: 0, failures: [] }

/** The part of Vitest's JSON report that is read here. */
export type Report = {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly FileResult[]
}
type FileResult = {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly startTime: number
  readonly endTime: number
  readonly assertionResults: readonly TestResult[]
}
type TestResult = {
  readonly status: string
  readonly fullName: string
  readonly failureMessages?: readonly string[] | null
}

const SLOWEST_SHOWN = 5
const MESSAGE_LINES = 6

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
    const report = JSON.parse(readFileSync(output, 'utf8')) as Report
    for (const line of slowestOf(report)) console.log(line)
    return totalsOf(project, report, status)
  } catch {
    const problem = `${project}: the test runner wrote no report (exit code ${status})`
    console.error(problem)
    return { passed: 0, failed: 1, skipped: 0, failures: [problem] }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A file that fails before its first test, and a runner that fails without a failed test, count as one failure. */
export function totalsOf(project: string, report: Report, status: number | null): Totals {
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  )
  const failures = [
    ...broken.map((file) => failure(project, file.name, 'the file', file.message)),
    ...report.testResults.flatMap((file) =>
      file.assertionResults
        .filter((test) => test.status === 'failed')
        .map((test) => failure(project, file.name, test.fullName, test.failureMessages?.join('\n') ?? '')),
    ),
  ]
  const failed = report.numFailedTests + broken.length
  const unexplained = failed === 0 && status !== 0
  return {
    passed: report.numPassedTests,
    failed: unexplained ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: unexplained
      ? [`${project}: every test passed, but the runner ended with ${status}: see its output`]
      : failures,
  }
}

const failure = (project: string, file: string, test: string, message: string): string =>
  [
    `FAILED ${project} ${relative(process.cwd(), file)}: ${test}`,
    ...message.split('\n').slice(0, MESSAGE_LINES),
  ].join('\n    ')

/** Where the time goes, so that a suite that has grown too long tells where to look. */
const slowestOf = (report: Report): readonly string[] =>
  report.testResults
    .map((file) => ({
      name: relative(process.cwd(), file.name),
      seconds: (file.endTime - file.startTime) / 1000,
    }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST_SHOWN)
    .map(({ name, seconds }) => `${seconds.toFixed(0).padStart(6)} s  ${name}`)

export const sum = (...all: readonly Totals[]): Totals => ({
  passed: all.reduce((total, { passed }) => total + passed, 0),
  failed: all.reduce((total, { failed }) => total + failed, 0),
  skipped: all.reduce((total, { skipped }) => total + skipped, 0),
  failures: all.flatMap(({ failures }) => failures),
})

/** Says again what failed, then the totals. */
export function printTotals(totals: Totals): void {
  if (totals.failures.length > 0) console.log(`\n== failed\n${totals.failures.join('\n')}`)
  console.log(`\n${totalsLine(totals)}`)
}

/** The last line of every runner, which `.ci/run` adds up. */
const totalsLine = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
