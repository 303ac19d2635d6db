import { describe, expect, test } from 'vitest'
import { totalsOf } from './runner.ts'
import type { Report } from './runner.ts'

const file = (status: string, results: Report['testResults'][number]['assertionResults'], message = '') => ({
  name: `${process.cwd()}/room/some.test.ts`,
  status,
  message,
  startTime: 0,
  endTime: 1,
  assertionResults: results,
})

const report = (
  numPassedTests: number,
  numFailedTests: number,
  ...testResults: Report['testResults']
): Report => ({
  numPassedTests,
  numFailedTests,
  numPendingTests: 1,
  numTodoTests: 1,
  testResults,
})

describe('the totals of a project', () => {
  test('name each failed test with its file and its message', () => {
    const totals = totalsOf(
      'unit',
      report(
        1,
        1,
        file('failed', [
          { status: 'passed', fullName: 'adds' },
          { status: 'failed', fullName: 'subtracts', failureMessages: ['AssertionError: 1 is not 2'] },
        ]),
      ),
      1,
    )
    expect(totals).toMatchObject({ passed: 1, failed: 1, skipped: 2 })
    expect(totals.failures).toEqual([
      'FAILED unit room/some.test.ts: subtracts\n    AssertionError: 1 is not 2',
    ])
  })

  test('count a file that fails before its first test', () => {
    const totals = totalsOf('unit', report(3, 0, file('failed', [], 'SyntaxError: no')), 1)
    expect(totals).toMatchObject({ passed: 3, failed: 1 })
    expect(totals.failures).toEqual(['FAILED unit room/some.test.ts: the file\n    SyntaxError: no'])
  })

  test('count a runner that fails although every test passed, an unhandled error for instance', () => {
    expect(totalsOf('unit', report(3, 0), 1)).toMatchObject({ passed: 3, failed: 1 })
    expect(totalsOf('unit', report(3, 0), 0)).toMatchObject({ passed: 3, failed: 0, failures: [] })
  })
})
