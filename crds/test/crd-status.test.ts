import { TENANT_STATES } from '@service/domain'
import type { TenantState } from '@service/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { phaseChanges } from '../src/phase-rule.ts'
import { serveCrd } from './crd-server.ts'
import type { ServedCrd } from './crd-server.ts'
import { minimalSpec } from './samples.ts'

const AT = '2026-01-01T00:00:00.000Z'
const entry = (seq: number) => ({ seq, kind: 'step.started', step: 'namespace', at: AT })
const entries = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => entry(first + index))
const ready = { type: 'Ready', status: 'True', observedGeneration: 1, lastTransitionTime: AT, message: '' }
const failure = { step: 'release', reason: 'InstallFailed', message: 'No.', at: AT, retryToken: '' }

describe('the status of a Tenant', () => {
  let served: ServedCrd
  beforeAll(async () => {
    served = await serveCrd()
  })
  afterAll(() => served.end())

  const withStatus = async (status: object): Promise<string> => {
    const { metadata } = await served.create({ ...minimalSpec, revision: 5 })
    if (Object.keys(status).length > 0) await served.report(metadata.name, { ...status })
    return metadata.name
  }

  describe('takes', () => {
    it.each<[string, object, object]>([
      ['a first phase', {}, { phase: 'pending' }],
      ['the same phase again', { phase: 'active' }, { phase: 'active' }],
      ['a higher observed revision', { observedRevision: 4 }, { observedRevision: 5 }],
      ['a failure', { failure: null }, { failure }],
      ['no failure any more', { failure }, { failure: null }],
      ['the journal when its oldest entries go', { journal: entries(1, 64) }, { journal: entries(2, 65) }],
      ['a first journal that begins late', {}, { journal: entries(40, 50) }],
    ])('%s', async (_, before, after) => {
      const name = await withStatus(before)
      const { status } = await served.report(name, { ...after })
      const { failure: wanted, ...rest } = after as { failure?: object | null }
      expect(status).toMatchObject(rest)
      if (wanted !== null) expect(status).toMatchObject(after)
      else expect(status?.failure ?? null).toBeNull()
    })

    it('a failure that is null when all of it is written', async () => {
      const name = await withStatus({})
      const path = `${served.path}/${name}/status?fieldManager=crd-test&force=true`
      const applied = await served.api.call('PATCH', path, {
        patch: 'apply',
        body: {
          apiVersion: served.apiVersion,
          kind: 'Tenant',
          metadata: { name },
          status: { phase: 'pending', failure: null, journal: entries(1, 2) },
        },
      })
      expect(applied).toMatchObject({ status: { failure: null } })
    })
  })

  describe('refuses', () => {
    it.each<[string, object, object, RegExp]>([
      ['an unknown phase', {}, { phase: 'paused' }, /status.phase: Unsupported value/],
      [
        'to have seen a revision that is not wanted yet',
        {},
        { observedRevision: 6 },
        /cannot be above spec.revision/,
      ],
      [
        'an observed revision that falls',
        { observedRevision: 4 },
        { observedRevision: 3 },
        /observedRevision may not/,
      ],
      [
        'an observed generation that falls',
        { observedGeneration: 1 },
        { observedGeneration: 0 },
        /observedGeneration may not/,
      ],
      ['the namespace of another slug', {}, { namespace: 'tenant-other' }, /is the namespace of this slug/],
      [
        'two conditions of one type',
        {},
        {
          conditions: [
            { ...ready, reason: 'Succeeded' },
            { ...ready, reason: 'Progressing' },
          ],
        },
        /conditions\[1\]: Duplicate value/,
      ],
      [
        'a reason that no runbook knows',
        {},
        { conditions: [{ ...ready, reason: 'Why' }] },
        /reason: Unsupported/,
      ],
      ['a condition without a reason', {}, { conditions: [ready] }, /reason: Required/],
      ['an unknown step', {}, { steps: [{ step: 'tea', status: 'done' }] }, /step: Unsupported value/],
      ['a journal of 65 entries', {}, { journal: entries(1, 65) }, /journal: Too many/],
      ['a journal out of order', {}, { journal: [entry(2), entry(1)] }, /in the order of seq/],
      ['a journal with one seq twice', {}, { journal: [entry(1), entry(1)] }, /each seq once/],
      [
        'a journal that loses its newest',
        { journal: entries(1, 3) },
        { journal: entries(1, 2) },
        /never its newest/,
      ],
      ['a journal that loses all', { journal: entries(1, 3) }, { journal: [] }, /never its newest/],
      ['a time that is none', {}, { journal: [{ ...entry(1), at: 'noon' }] }, /journal\[0\].at/],
    ])('%s', async (_, before, after, rule) => {
      const name = await withStatus(before)
      await expect(served.report(name, { ...after })).rejects.toMatchObject({
        status: 422,
        message: expect.stringMatching(rule),
      })
    })
  })

  const pairs = TENANT_STATES.flatMap((from) => TENANT_STATES.map((to) => [from, to] as const))
  it.each(pairs)('moves from %s to %s only if the table says so', async (from, to) => {
    const name = await withStatus({ phase: from })
    const attempt = served.report(name, { phase: to })
    if (from === to || (phaseChanges()[from] as readonly TenantState[]).includes(to))
      await expect(attempt).resolves.toMatchObject({ status: { phase: to } })
    else await expect(attempt).rejects.toThrow(/this change of phase does not exist/)
  })
})
