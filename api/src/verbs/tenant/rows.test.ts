import { describe, expect, test } from 'vitest'
import { unobservedError } from './rows.ts'

const ORDERED = new Date('2026-01-01T00:00:00.000Z')
const after = (seconds: number) => new Date(ORDERED.getTime() + seconds * 1_000)
const row = { specRevision: 2, updatedAt: ORDERED, deletedAt: null }
const condition = (type: 'Ready' | 'Stalled', status: 'True' | 'Unknown', reason: 'Refused' | 'Paused') => ({
  type,
  status,
  reason,
  message: '',
  observedGeneration: 1,
  lastTransitionTime: ORDERED.toISOString(),
})

describe('an order that the operator does not take up', () => {
  test('is told of after two minutes', () => {
    for (const status of [null, { observedRevision: 1, conditions: [] }]) {
      expect(unobservedError(row, status, after(119))).toBeNull()
      expect(unobservedError(row, status, after(120))).toMatchObject({
        reason: 'NotObserved',
        at: '2026-01-01T00:00:00.000Z',
      })
    }
  })
  test.each([
    ['taken up', row, { observedRevision: 2, conditions: [] }],
    ['paused', row, { observedRevision: 1, conditions: [condition('Ready', 'Unknown', 'Paused')] }],
    ['stalled', row, { observedRevision: 1, conditions: [condition('Stalled', 'True', 'Refused')] }],
    ['of a deleted tenant', { ...row, deletedAt: ORDERED }, null],
  ] as const)('is not told of when it is %s', (_, tenant, status) => {
    const seen = status === null ? null : { ...status, conditions: [...status.conditions] }
    expect(unobservedError(tenant, seen, after(600))).toBeNull()
  })
})
