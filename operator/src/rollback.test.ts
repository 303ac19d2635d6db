import type { Tenant } from '@service/crds'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conditionOf, story, tenantSpec } from '../test/tenant.ts'
import { checksumsOf } from './desired/index.ts'
import type { Observation } from './observation.ts'
import { assess, plan, retryRequested, rollbackOf } from './plan.ts'
import type { Next } from './plan.ts'
import { nextStatus } from './status.ts'
import type { StepFailure } from './status.ts'
import { withoutSecrets } from './steps/evidence.ts'

const T0 = Date.parse('2026-01-01T00:00:00Z')
const at = (seconds: number): Date => new Date(T0 + seconds * 1_000)
const REFUSED: StepFailure = {
  step: 'release',
  reason: 'InstallFailed',
  message: 'the chart is broken',
  evidence: 'what helm said',
}
const fresh = (): Tenant => ({
  ...tenantSpec('acme', { tenantId: '00000000-0000-4000-8000-00000000000a' }),
  metadata: { name: 'acme', uid: 'u1', resourceVersion: '1', generation: 1 },
})
const withSpec = (tenant: Tenant, change: Partial<Tenant['spec']>): Tenant => ({
  ...tenant,
  spec: { ...tenant.spec, ...change },
})

/** A cluster as far as a rollback needs one: what is there, and whether the chart can be installed. */
type Model = {
  tenant: Tenant
  namespace: 'absent' | 'ours' | 'terminating'
  secrets: boolean
  release: 'none' | 'failed' | 'pending-install' | 'deployed'
  broken: boolean
  seconds: number
}
const model = (broken: boolean): Model => ({
  tenant: fresh(),
  namespace: 'absent',
  secrets: false,
  release: 'none',
  broken,
  seconds: 0,
})

function observe({ namespace, secrets, release }: Model): Observation {
  const uid = 'n1'
  return {
    namespace:
      namespace === 'absent'
        ? { state: 'absent' }
        : namespace === 'ours'
          ? { state: 'ours', uid, labelled: true }
          : { state: 'terminating', uid, blockers: [] },
    material: { state: 'ready' },
    checksums: checksumsOf(new Map()),
    outdatedSecrets: secrets ? [] : ['adapter-token'],
    release:
      release === 'none'
        ? null
        : {
            revision: 1,
            status: release,
            chartVersion: '1.0.0',
            valuesDigest: 'v1',
            manifestDigest: 'm1',
            ours: release === 'pending-install',
          },
    desired: { valuesDigest: 'v1', chartVersion: '1.0.0' },
    workloads: release === 'none' ? null : { total: 1, unready: ['Deployment a: 0 of 1'] },
    heartbeatAt: null,
  }
}

type Kill = 'before-status' | 'before-act' | 'in-act' | 'before-record' | 'none'

/** One pass of a reconciliation, which may be killed at any of its moments. `false`: nothing is left to do. */
function pass(cluster: Model, kill: Kill): boolean {
  cluster.seconds += 1
  const now = at(cluster.seconds)
  // In the cluster things go on by themselves.
  if (cluster.namespace === 'terminating') Object.assign(cluster, { namespace: 'absent', secrets: false })
  const seen = observe(cluster)
  const verdicts = assess(cluster.tenant, seen, now)
  const next = plan(cluster.tenant, seen, verdicts, now)
  if (kill === 'before-status') return true
  const input = { verdicts, next, now, release: seen.release, namespaceLost: false }
  const before = JSON.stringify(cluster.tenant.status)
  cluster.tenant = { ...cluster.tenant, status: nextStatus({ ...input, tenant: cluster.tenant }) }
  const changed = JSON.stringify(cluster.tenant.status) !== before
  if (next.do === 'rest') return changed
  if (kill === 'before-act') return true
  const failed = perform(cluster, next, kill)
  if (kill === 'in-act' || kill === 'before-record' || failed === undefined) return true
  cluster.tenant = { ...cluster.tenant, status: nextStatus({ ...input, tenant: cluster.tenant, failed }) }
  return true
}

function perform(cluster: Model, next: Exclude<Next, { do: 'rest' }>, kill: Kill): StepFailure | undefined {
  if (next.do === 'roll-back') {
    // Nothing of this tenant is removed before the failure and its evidence have been written down.
    expect(cluster.tenant.status?.failure).not.toBeNull()
    expect(story(cluster.tenant).findLast((line) => /step.failed|rolled_back/.test(line))).toMatch(
      next.act.do === 'finished' ? /rolled_back/ : /step.failed/,
    )
    if (next.act.do === 'uninstall' && kill !== 'in-act') cluster.release = 'none'
    if (next.act.do === 'delete-namespace' && kill !== 'in-act') cluster.namespace = 'terminating'
    return undefined
  }
  if (next.step === 'namespace') cluster.namespace = 'ours'
  else if (next.step === 'secrets') cluster.secrets = true
  else if (kill === 'in-act') cluster.release = 'pending-install'
  else {
    cluster.release = cluster.broken ? 'failed' : 'deployed'
    return cluster.broken ? REFUSED : undefined
  }
  return undefined
}

function settle(cluster: Model): void {
  for (let passes = 0; passes < 40; passes++) if (!pass(cluster, 'none')) return
  throw new Error(`does not settle: ${story(cluster.tenant).slice(-6).join(', ')}`)
}
const retry = (cluster: Model): void => {
  const token = String(Number(cluster.tenant.spec.retryToken) + 1)
  const { revision } = cluster.tenant.spec
  cluster.tenant = withSpec(cluster.tenant, { retryToken: token, revision: revision + 1 })
}

const FAILED_STORY = [
  'step.started namespace',
  'step.done namespace',
  'step.started secrets',
  'step.done secrets',
  'step.started release',
  'step.failed release',
  'rolled_back release',
]

describe('an installation that fails', () => {
  it('is rolled back, stays pending with its failure, and waits', () => {
    const cluster = model(true)
    settle(cluster)
    const { status } = cluster.tenant
    expect(story(cluster.tenant)).toEqual(FAILED_STORY)
    expect(status?.phase).toBe('pending')
    expect(status?.failure).toMatchObject({
      step: 'release',
      reason: 'InstallFailed',
      message: REFUSED.message,
      retryToken: '0',
    })
    expect(status?.journal?.find(({ kind }) => kind === 'step.failed')?.evidence).toBe('what helm said')
    expect(conditionOf(cluster.tenant, 'Stalled')).toBe('True InstallFailed')
    expect(conditionOf(cluster.tenant, 'Reconciling')).toBeUndefined()
    expect(status?.release).toBeUndefined()
    expect(status?.steps?.map((each) => each.status)).toEqual([
      'waiting',
      'waiting',
      'failed',
      'waiting',
      'waiting',
    ])
    expect([cluster.namespace, cluster.release]).toEqual(['absent', 'none'])
    // Neither time nor a repaired chart nor another revision start it again, only a person does.
    cluster.broken = false
    cluster.tenant = withSpec(cluster.tenant, { revision: 7 })
    cluster.seconds += 100_000
    settle(cluster)
    expect(story(cluster.tenant)).toEqual(FAILED_STORY)
    retry(cluster)
    settle(cluster)
    expect(cluster.tenant.status?.phase).toBe('provisioning')
    expect(cluster.tenant.status?.failure).toBeUndefined()
    expect(conditionOf(cluster.tenant, 'Stalled')).toBeUndefined()
    expect(story(cluster.tenant)).toEqual([
      ...FAILED_STORY,
      ...FAILED_STORY.slice(0, 5),
      'step.done release',
      'state.changed pending -> provisioning',
      'step.started workloads',
    ])
  })

  it('says while it is being removed that it is, and why that does not get on', () => {
    const cluster = model(true)
    while (rollbackOf(cluster.tenant) !== 'open') pass(cluster, 'none')
    expect(conditionOf(cluster.tenant, 'Reconciling')).toBe('True Progressing')
    expect(conditionOf(cluster.tenant, 'Stalled')).toBeUndefined()
    const seen = observe(cluster)
    const verdicts = assess(cluster.tenant, seen, at(99))
    const next = plan(cluster.tenant, seen, verdicts, at(99))
    const input = { tenant: cluster.tenant, verdicts, next, now: at(99), release: seen.release }
    const status = nextStatus({ ...input, namespaceLost: false, trouble: 'no right to delete' })
    const message = status.conditions?.find(({ type }) => type === 'Reconciling')?.message
    expect(message).toContain('no right to delete')
    expect(status.failure?.message).toBe(REFUSED.message)
  })

  it('is first removed when a retry is asked for in the middle of it', () => {
    const cluster = model(true)
    while (rollbackOf(cluster.tenant) !== 'open') pass(cluster, 'none')
    cluster.broken = false
    retry(cluster)
    settle(cluster)
    expect(story(cluster.tenant).slice(5, 8)).toEqual([
      'step.failed release',
      'rolled_back release',
      'step.started namespace',
    ])
    expect(cluster.tenant.status?.phase).toBe('provisioning')
  })

  it('leaves a running helm of somebody else alone, and a namespace of somebody else anyway', () => {
    const cluster = model(true)
    while (rollbackOf(cluster.tenant) !== 'open') pass(cluster, 'none')
    const seen = observe({ ...cluster, release: 'pending-install' })
    if (seen.release === null) throw new Error('no release')
    const foreign = { ...seen, release: { ...seen.release, ours: false } }
    const planned = (each: Observation) =>
      plan(cluster.tenant, each, assess(cluster.tenant, each, at(9)), at(9))
    expect(planned(foreign)).toMatchObject({ do: 'roll-back', act: { do: 'wait' } })
    const others = { ...seen, namespace: { state: 'foreign', tenantId: 'x', going: false } as const }
    expect(planned(others)).toEqual({ do: 'roll-back', act: { do: 'finished' } })
  })

  it('is rolled back once for each failure, whenever the operator dies and whenever somebody retries', () => {
    const kills = fc.constantFrom<Kill>(
      'before-status',
      'before-act',
      'in-act',
      'before-record',
      'none',
      'none',
    )
    const moves = fc.array(
      fc.oneof({ weight: 9, arbitrary: kills }, { weight: 1, arbitrary: fc.constant('retry' as const) }),
      {
        maxLength: 60,
      },
    )
    fc.assert(
      fc.property(moves, (history) => {
        const cluster = model(true)
        for (const move of history) {
          // A retry is only admitted where there is a failure.
          if (move === 'retry') {
            if (cluster.tenant.status?.failure !== undefined && !retryRequested(cluster.tenant))
              retry(cluster)
          } else pass(cluster, move)
        }
        settle(cluster)
        const ends = story(cluster.tenant).filter((line) => /step.failed|rolled_back/.test(line))
        expect(ends.length).toBeGreaterThan(0)
        for (const [index, line] of ends.entries()) {
          expect(line).toBe(index % 2 === 0 ? 'step.failed release' : 'rolled_back release')
        }
        expect(ends.length % 2).toBe(0)
        expect([cluster.namespace, cluster.release]).toEqual(['absent', 'none'])
        cluster.broken = false
        retry(cluster)
        settle(cluster)
        expect(cluster.tenant.status?.phase).toBe('provisioning')
        expect(cluster.tenant.status?.failure).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})

describe('what only blocks', () => {
  const conflict = (): Observation => ({
    ...observe(model(false)),
    namespace: { state: 'foreign', tenantId: 'x', going: false },
  })
  const once = (tenant: Tenant, seen: Observation): [Tenant, Next] => {
    const verdicts = assess(tenant, seen, at(1))
    const next = plan(tenant, seen, verdicts, at(1))
    const input = { tenant, verdicts, next, now: at(1), release: null, namespaceLost: false }
    return [{ ...tenant, status: nextStatus(input) }, next]
  }

  it('is the failure of the tenant before it is installed, and is not rolled back', () => {
    const [tenant] = once(fresh(), conflict())
    expect(tenant.status?.failure).toMatchObject({ step: 'namespace', reason: 'Conflict' })
    expect(rollbackOf(tenant)).toBe('none')
    expect(once(tenant, conflict())[1].do).toBe('rest')
    const invalid = { ...observe(model(false)), desired: { invalid: 'not so' } }
    const [wrong] = once(fresh(), invalid)
    expect(wrong.status?.failure).toMatchObject({ step: 'release', reason: 'InvalidConfiguration' })
    expect(conditionOf(wrong, 'Stalled')).toBe('True InvalidConfiguration')
  })

  it('passes by itself when what blocked is gone', () => {
    const [tenant] = once(fresh(), conflict())
    const [free, next] = once(tenant, observe(model(false)))
    expect(free.status?.failure).toBeUndefined()
    expect(next).toEqual({ do: 'step', step: 'namespace' })
  })

  it('waits for the namespace of a former tenant of this slug to go', () => {
    const going = { ...conflict(), namespace: { state: 'foreign', tenantId: 'x', going: true } as const }
    const [tenant, next] = once(fresh(), going)
    expect(next.do).toBe('rest')
    expect(tenant.status?.failure).toBeUndefined()
    expect(conditionOf(tenant, 'NamespaceReady')).toBe('False Terminating')
  })
})

it('takes the values of secrets out of what is shown', () => {
  const secret = 'a-long-password'
  const text = `said ${secret}, and ${Buffer.from(secret).toString('base64')}, and abc`
  expect(withoutSecrets(text, [secret, 'abc', ''])).toBe('said [secret], and [secret], and abc')
})
