import type { JournalEntry, TenantStatus } from '@service/crds'
import { eventOfPhaseChange, TENANT_STATES, type TenantState } from '@service/domain'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Changes, isNothing, type Known, projectStatus } from './project.ts'

const NOW = new Date('2026-01-01T01:00:00.000Z')
const at = (seq: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString()

type Store = Known & { readonly lifecycle: readonly { seq: number | null; kind: string }[] }

const fresh = (change: Partial<Known['tenant']> = {}): Store => ({
  tenant: {
    state: 'pending',
    stateReason: null,
    stateChangedAt: new Date(0),
    suspendedFrom: null,
    decommissionedFrom: null,
    stateRevision: 1,
    retryToken: '',
    error: null,
    ...change,
  },
  status: null,
  installation: {
    chartVersion: null,
    revision: null,
    status: null,
    valuesDigest: null,
    manifestDigest: null,
    installedAt: null,
    lastError: null,
  },
  storedSeqs: new Set(),
  lifecycle: [],
})

/** What the database would hold after the changes. */
const applied = (store: Store, changes: Changes): Store => ({
  tenant: { ...store.tenant, ...changes.tenant },
  status: changes.status ?? store.status,
  installation: changes.installation ?? store.installation,
  storedSeqs: new Set([
    ...store.storedSeqs,
    ...changes.lifecycle.flatMap(({ seq }) => (seq === null ? [] : [seq])),
  ]),
  lifecycle: [...store.lifecycle, ...changes.lifecycle],
})
const project = (store: Store, status: TenantStatus): Changes =>
  projectStatus(store, { uid: 'uid-1', status }, NOW)
const take = (store: Store, status: TenantStatus): Store => applied(store, project(store, status))

const changed = (seq: number, from: TenantState, to: TenantState): JournalEntry => ({
  seq,
  kind: 'state.changed',
  from,
  to,
  at: at(seq),
})
const noted = (seq: number): JournalEntry => ({ seq, kind: 'step.done', step: 'namespace', at: at(seq) })

/** The statuses that an operator writes one after the other while it brings a tenant up. */
const HISTORY: readonly JournalEntry[] = [
  noted(1),
  noted(2),
  changed(3, 'pending', 'provisioning'),
  noted(4),
  changed(5, 'provisioning', 'active'),
  noted(6),
]
const statusAfter = (count: number): TenantStatus => {
  const journal = HISTORY.slice(0, count)
  const phase = journal.findLast((entry) => entry.kind === 'state.changed')?.to ?? 'pending'
  return { phase, observedRevision: 1, journal: [...journal] }
}

test('a journal becomes lifecycle rows and moves, each with the moment of its entry', () => {
  const changes = project(fresh(), statusAfter(6))
  expect(changes.lifecycle.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
  expect(changes.moves).toEqual([
    { from: 'pending', to: 'provisioning', at: new Date(at(3)) },
    { from: 'provisioning', to: 'active', at: new Date(at(5)) },
  ])
  expect(changes.tenant).toMatchObject({ state: 'active', stateChangedAt: new Date(at(5)) })
})

test('a second look writes nothing', () => {
  const store = take(fresh(), statusAfter(6))
  expect(isNothing(project(store, statusAfter(6)))).toBe(true)
})

test('however watches coalesce, repeat and fall back, each entry is one row and each change one move', () => {
  const looks = fc.array(fc.integer({ min: 0, max: HISTORY.length }), { maxLength: 12 })
  fc.assert(
    fc.property(looks, (counts) => {
      let store = fresh()
      const moves: string[] = []
      for (const count of [...counts, HISTORY.length]) {
        const changes = project(store, statusAfter(count))
        moves.push(...changes.moves.map(({ from, to }) => `${from}>${to}`))
        store = applied(store, changes)
      }
      expect(moves).toEqual(['pending>provisioning', 'provisioning>active'])
      expect(store.tenant.state).toBe('active')
      expect(new Set(store.lifecycle.map(({ seq }) => seq))).toEqual(new Set([1, 2, 3, 4, 5, 6]))
      expect(store.lifecycle).toHaveLength(6)
    }),
  )
})

test('any journal in any order of looks: rows are unique, every move is one of the domain, and a repeat is silent', () => {
  const state = fc.constantFrom(...TENANT_STATES)
  const entries = fc
    .array(fc.tuple(state, state), { maxLength: 8 })
    .map((pairs) => pairs.map(([from, to], index) => changed(index + 1, from, to)))
  const status = fc.record({
    journal: entries,
    phase: state,
    observedRevision: fc.integer({ min: 0, max: 3 }),
  })
  const start = fc.record({ state, stateRevision: fc.integer({ min: 1, max: 3 }) })
  fc.assert(
    fc.property(start, fc.array(status, { maxLength: 6 }), (tenant, statuses) => {
      let store = fresh(tenant)
      for (const next of statuses) {
        const changes = project(store, next)
        let here = store.tenant.state
        for (const move of changes.moves) {
          expect(move.from).toBe(here)
          expect(eventOfPhaseChange(move.from, move.to)).toBeDefined()
          here = move.to
        }
        expect(changes.tenant?.state ?? store.tenant.state).toBe(here)
        if (next.observedRevision < store.tenant.stateRevision) expect(changes.moves).toEqual([])
        store = applied(store, changes)
        expect(isNothing(project(store, next))).toBe(true)
      }
      const seqs = store.lifecycle.flatMap(({ seq }) => (seq === null ? [] : [seq]))
      expect(new Set(seqs).size).toBe(seqs.length)
    }),
  )
})

describe('the guard of revisions', () => {
  test('what was seen before the last verb is recorded and moves nothing', () => {
    const suspended = fresh({ state: 'suspended', suspendedFrom: 'provisioning', stateRevision: 2 })
    const changes = project(suspended, statusAfter(6))
    expect(changes.moves).toEqual([])
    expect(changes.tenant).toBeNull()
    expect(changes.lifecycle).toHaveLength(6)
  })
  test('what the journal told too early is made good when the operator has seen the verb', () => {
    const resumed = take(fresh({ state: 'provisioning', stateRevision: 3 }), statusAfter(6))
    expect(resumed.tenant.state).toBe('provisioning')
    const changes = project(resumed, { ...statusAfter(6), observedRevision: 3 })
    expect(changes.moves).toEqual([{ from: 'provisioning', to: 'active', at: NOW }])
    expect(changes.lifecycle).toMatchObject([{ seq: null, from: 'provisioning', to: 'active' }])
  })
})

test('the operator’s echo of a verb makes no second row of the transition', () => {
  const retried = fresh({ state: 'provisioning', stateRevision: 2 })
  const changes = project(retried, {
    phase: 'active',
    observedRevision: 2,
    journal: [changed(1, 'degraded', 'provisioning'), changed(2, 'provisioning', 'active')],
  })
  expect(changes.lifecycle.map(({ seq }) => seq)).toEqual([2])
  expect(changes.moves).toMatchObject([{ from: 'provisioning', to: 'active' }])
})

test('a phase whose history the journal has lost is reached step by step', () => {
  const changes = project(fresh(), { phase: 'active', observedRevision: 1, journal: [] })
  expect(changes.moves.map(({ to }) => to)).toEqual(['provisioning', 'active'])
})

test('a resource that was made again begins its journal anew and moves nothing that is past', () => {
  const store = { ...take(fresh(), statusAfter(6)), storedSeqs: new Set<number>() }
  const changes = projectStatus(store, { uid: 'uid-2', status: statusAfter(3) }, NOW)
  expect(changes.lifecycle).toHaveLength(3)
  expect(changes.moves).toEqual([])
  expect(changes.status?.crUid).toBe('uid-2')
})

describe('a failure', () => {
  const failure = {
    step: 'release',
    reason: 'InstallFailed',
    message: 'no such image',
    at: at(2),
    retryToken: 'a',
  } as const
  test('becomes the error of the row, and goes with it', () => {
    const failed = take(fresh({ retryToken: 'a' }), { phase: 'pending', observedRevision: 1, failure })
    expect(failed.tenant.error).toEqual(failure)
    expect(failed.installation?.lastError).toBe('no such image')
    const healed = take(failed, { phase: 'pending', observedRevision: 1, failure: null })
    expect(healed.tenant.error).toBeNull()
    expect(healed.installation?.lastError).toBeNull()
  })
  test('of an earlier try does not come back', () => {
    const retried = take(fresh({ retryToken: 'b' }), { phase: 'pending', observedRevision: 1, failure })
    expect(retried.tenant.error).toBeNull()
    expect(retried.installation?.lastError).toBeNull()
  })
  test('of the new try counts again', () => {
    const again = { ...failure, retryToken: 'b' }
    const failed = take(fresh({ retryToken: 'b' }), { phase: 'pending', observedRevision: 2, failure: again })
    expect(failed.tenant.error).toEqual(again)
  })
  test('and its rollback become rows with step and evidence, and the tenant stays pending', () => {
    const journal: JournalEntry[] = [
      { seq: 1, kind: 'step.failed', step: 'release', at: at(1), evidence: 'Error: no such image' },
      { seq: 2, kind: 'rolled_back', step: 'release', at: at(2), evidence: 'uninstalled' },
    ]
    const changes = project(fresh({ retryToken: 'a' }), {
      phase: 'pending',
      observedRevision: 1,
      failure,
      journal,
    })
    expect(changes.lifecycle).toMatchObject([
      { seq: 1, kind: 'step.failed', details: { step: 'release', evidence: 'Error: no such image' } },
      { seq: 2, kind: 'rolled_back', details: { step: 'release', evidence: 'uninstalled' } },
    ])
    expect(changes.moves).toEqual([])
    expect(changes.tenant).toEqual({ error: failure })
  })
  test('names the reason of a degraded tenant', () => {
    const status = { phase: 'degraded', observedRevision: 1, failure } as const
    const changes = project(fresh({ state: 'provisioning', retryToken: 'a' }), status)
    expect(changes.tenant).toMatchObject({ state: 'degraded', stateReason: 'InstallFailed' })
  })
})

test('the release fills the installation and keeps the moment of its first sight', () => {
  const release = {
    name: 'service-tenant',
    revision: 1,
    chartVersion: '0.1.0',
    valuesDigest: 'v',
    manifestDigest: 'm',
    status: 'deployed',
  }
  const store = take(fresh(), { release })
  expect(store.installation).toMatchObject({ revision: 1, status: 'deployed', installedAt: NOW })
  const later = projectStatus(
    store,
    { uid: 'uid-1', status: { release: { ...release, revision: 2 } } },
    new Date(NOW.getTime() + 1000),
  )
  expect(later.installation).toMatchObject({ revision: 2, installedAt: NOW })
})
