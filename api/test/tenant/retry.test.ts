import { type MsspPrincipal, ServiceError, type TenantState } from '@service/domain'
import { Tenant } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { retryTenant } from '../../src/verbs/tenant/retry.ts'
import { rowCounts } from '../support/database.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())

const principal = msspUser()
const FAILURE = {
  step: 'release',
  reason: 'InstallFailed',
  message: 'no such image',
  at: '2026-01-01T00:00:00.000Z',
  retryToken: '',
}

/** A tenant in a state that an operator has brought it to. */
async function tenantIn(state: TenantState, error: object | null): Promise<string> {
  const { id } = await createTenant(fixture.tenants, { principal, requestId: 'r', tenant: tenantInput() })
  const text = error === null ? null : JSON.stringify(error)
  await fixture.all`
    update tenants set state = ${state}, error = ${text}, state_reason = ${error === null ? null : 'TimedOut'},
           suspended_from = ${state === 'suspended' ? 'active' : null}
    where id = ${id}`
  await fixture.all`delete from reconcile_queue where tenant_id = ${id}`
  return id
}
const retry = (id: string, by: MsspPrincipal = principal) =>
  retryTenant(fixture.tenants, { principal: by, requestId: 'req-9', id })
const refusal = (promise: Promise<unknown>): Promise<object> =>
  promise.then(
    () => ({ code: 'done' }),
    (error: unknown) =>
      error instanceof ServiceError ? { code: error.code, state: error.extras.current_state } : { error },
  )
const rowOf = async (id: string) => {
  const [row] = await fixture.all`
    select state, state_reason, error, retry_token, spec_revision, state_revision, generation
    from tenants where id = ${id}`
  return row
}
const lifecycleOf = (id: string) =>
  fixture.all`select kind, from_state, to_state, actor_id, details from tenant_lifecycle_events
              where tenant_id = ${id} and kind <> 'tenant.created' order by id`
const auditOf = (id: string) =>
  fixture.all`select * from audit_log where tenant_id = ${id} and action = 'tenant.retry'`
const marksOf = (id: string) => fixture.all`select from reconcile_queue where tenant_id = ${id}`

describe('retrying a tenant', () => {
  test('that is pending with an error clears the error and orders another try', async () => {
    const id = await tenantIn('pending', FAILURE)
    const answer = await retry(id)
    expect(v.safeParse(Tenant, answer).issues).toBeUndefined()
    expect(answer).toMatchObject({ id, state: 'pending', error: null, generation: 1 })
    const row = await rowOf(id)
    expect(row).toMatchObject({ state: 'pending', error: null, spec_revision: 2, state_revision: 2 })
    expect(row?.retry_token).toMatch(/^[0-9a-f-]{36}$/)
    expect(await lifecycleOf(id)).toEqual([
      {
        kind: 'retry.requested',
        from_state: 'pending',
        to_state: 'pending',
        actor_id: principal.userId,
        details: { step: 'release', reason: 'InstallFailed' },
      },
    ])
    expect(await auditOf(id)).toMatchObject([
      {
        actor_principal: 'User',
        actor_id: principal.userId,
        acting_as: id,
        request_id: 'req-9',
        before: { state: 'pending', error: { step: 'release', reason: 'InstallFailed' }, spec_revision: 1 },
        after: { state: 'pending', error: null, spec_revision: 2 },
      },
    ])
    expect(await marksOf(id)).toHaveLength(1)
  })

  test('that is degraded brings it back to provisioning, with one row of the transition', async () => {
    const id = await tenantIn('degraded', { ...FAILURE, step: 'workloads', reason: 'TimedOut' })
    const answer = await retry(id)
    expect(answer).toMatchObject({ state: 'provisioning', state_reason: null, error: null })
    expect(await rowOf(id)).toMatchObject({ state: 'provisioning', state_reason: null, state_revision: 2 })
    expect(await lifecycleOf(id)).toMatchObject([
      { kind: 'retry.requested', from_state: 'degraded', to_state: 'provisioning' },
      { kind: 'state.changed', from_state: 'degraded', to_state: 'provisioning' },
    ])
    const changes = await fixture.all`
      select actor_id, before, after from audit_log
      where tenant_id = ${id} and action = 'tenant.state_changed'`
    expect(changes).toEqual([
      { actor_id: principal.userId, before: { state: 'degraded' }, after: { state: 'provisioning' } },
    ])
  })

  test.each<[TenantState, object | null]>([
    ['pending', null],
    ['provisioning', null],
    ['active', null],
    ['suspended', null],
    ['decommissioning', null],
  ])('that is %s with error %j is refused and changes nothing', async (state, error) => {
    const id = await tenantIn(state, error)
    const before = await rowCounts(fixture.all)
    expect(await refusal(retry(id))).toEqual({ code: 'state_conflict', state })
    expect(await rowCounts(fixture.all)).toEqual(before)
    expect(await rowOf(id)).toMatchObject({ spec_revision: 1, retry_token: '' })
  })

  test.each<TenantState>(['pending', 'degraded'])(
    'many times at once from %s: exactly one wins',
    async (state) => {
      const id = await tenantIn(state, FAILURE)
      const outcomes = await Promise.all(Array.from({ length: 6 }, () => refusal(retry(id))))
      const after = state === 'pending' ? 'pending' : 'provisioning'
      expect(outcomes.filter((each) => 'code' in each && each.code === 'done')).toHaveLength(1)
      expect(outcomes.filter((each) => 'state' in each && each.state === after)).toHaveLength(5)
      expect(await rowOf(id)).toMatchObject({ spec_revision: 2 })
      expect(await auditOf(id)).toHaveLength(1)
    },
  )

  test('that is unknown or deleted is not found; whoever may not write is refused before', async () => {
    const id = await tenantIn('pending', FAILURE)
    expect(await refusal(retry(id, msspUser('analyst')))).toMatchObject({ code: 'capability_missing' })
    await fixture.all`update tenants set deleted_at = now() where id = ${id}`
    expect(await refusal(retry(id))).toMatchObject({ code: 'not_found' })
    expect(await refusal(retry(crypto.randomUUID()))).toMatchObject({ code: 'not_found' })
    expect(await auditOf(id)).toEqual([])
  })

  test('is nothing at all when its audit row cannot be written', async () => {
    const id = await tenantIn('degraded', FAILURE)
    // The clock of audit rows: everything before them is written.
    const clock = () => {
      throw new Error('no audit row')
    }
    const db = { ...fixture.db, clock }
    const dying = retryTenant({ ...fixture.tenants, db }, { principal, requestId: 'r', id })
    await expect(dying).rejects.toThrow('no audit row')
    expect(await rowOf(id)).toMatchObject({ state: 'degraded', spec_revision: 1 })
    expect(await lifecycleOf(id)).toEqual([])
  })
})
