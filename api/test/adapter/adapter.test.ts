import { randomUUID } from 'node:crypto'
import { type AdapterPrincipal, namespaceOf, noFailpoints, ServiceError } from '@service/domain'
import { createKubeClient, type KubeObject, LEASES, NAMESPACES } from '@service/kube'
import { AdapterConfig, EventBatch, EventBatchResult, Heartbeat, HeartbeatAnswer } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silent } from '../../src/log.ts'
import { readCheckpoint, writeCheckpoint } from '../../src/verbs/adapter/checkpoint.ts'
import { readAdapterConfig } from '../../src/verbs/adapter/config.ts'
import { ingestEvents } from '../../src/verbs/adapter/events.ts'
import { recordHeartbeat } from '../../src/verbs/adapter/health.ts'
import { createLeaseRenewer } from '../../src/verbs/adapter/lease.ts'
import { createTenant } from '../../src/verbs/tenant/create.ts'
import { type Fixture, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())

async function newTenant(): Promise<{ slug: string; principal: AdapterPrincipal }> {
  const tenant = tenantInput()
  const { id, slug } = await createTenant(fixture.tenants, { principal: msspUser(), requestId: 'r', tenant })
  return { slug, principal: { kind: 'adapter', tenantId: id, tokenVersion: 1 } }
}
const event = (id: string, change: object = {}) => ({
  source_event_id: id,
  severity: 7,
  title: 't',
  ...change,
})
const ingest = (principal: AdapterPrincipal, events: readonly unknown[]) =>
  ingestEvents(
    { db: fixture.db, clock: () => new Date(), onIngested: () => undefined, hit: noFailpoints },
    { principal, batch: v.parse(EventBatch, { events }) },
  )
const storedIds = async (tenantId: string): Promise<string[]> => {
  const rows = await fixture.all<{ id: string }[]>`
    select payload ->> 'source_event_id' as id from events where tenant_id = ${tenantId}`
  return rows.map(({ id }) => id).toSorted()
}

describe('events', () => {
  test('are answered in order, each by itself, and stored as they were validated', async () => {
    const { principal } = await newTenant()
    const answer = await ingest(principal, [
      event('a', { unknown: 1, full_log: 'x\u0000y', raw: { '\uD800': 'z\u0000' } }),
      event('b', { severity: 99 }),
      event('a'),
      'nonsense',
      event('c', { raw: JSON.parse('{"__proto__":{"polluted":1}}') }),
    ])
    expect(v.is(EventBatchResult, answer)).toBe(true)
    expect(answer).toMatchObject({ accepted: 2, duplicates: 1, rejected: 2 })
    expect(answer.results.map(({ source_event_id, status }) => [source_event_id, status])).toEqual([
      ['a', 'accepted'],
      ['b', 'rejected'],
      ['a', 'duplicate'],
      [null, 'rejected'],
      ['c', 'accepted'],
    ])
    expect(answer.results[1]?.error).toMatchObject({ pointer: '/severity' })
    const rows = await fixture.all<{ payload: Record<string, unknown> }[]>`
      select payload from events where tenant_id = ${principal.tenantId} and payload ->> 'source_event_id' = 'a'`
    expect(rows).toMatchObject([
      { payload: { source: 'wazuh', full_log: 'x\uFFFDy', raw: { '\uFFFD': 'z\uFFFD' }, entities: [] } },
    ])
    expect(rows[0]?.payload).not.toHaveProperty('unknown')
  })

  test('sent by many at once, in any order, are accepted exactly once each', async () => {
    const { principal } = await newTenant()
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`)
    const shuffled = (seed: number) => ids.toSorted((a, b) => hash(a, seed) - hash(b, seed))
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, seed) =>
        ingest(
          principal,
          shuffled(seed).map((id) => event(id)),
        ),
      ),
    )
    const accepted = answers.flatMap(({ results }) =>
      results.filter(({ status }) => status === 'accepted').map(({ source_event_id }) => source_event_id),
    )
    expect(accepted).toHaveLength(ids.length)
    expect(new Set(accepted).size).toBe(ids.length)
    expect(await storedIds(principal.tenantId)).toEqual(ids.toSorted())
  })

  test('of two tenants with the same ids are two events, and of two sources as well', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    expect(await ingest(one.principal, [event('x'), event('x', { source: 'other' })])).toMatchObject({
      accepted: 2,
    })
    expect(await ingest(two.principal, [event('x')])).toMatchObject({ accepted: 1 })
    expect(await storedIds(two.principal.tenantId)).toEqual(['x'])
  })

  test('a batch of 500 with one bad item stores the other 499', async () => {
    const { principal } = await newTenant()
    const events: unknown[] = Array.from({ length: 499 }, (_, index) => event(`n${index}`))
    events.splice(250, 0, event('bad', { severity: null }))
    expect(await ingest(principal, events)).toMatchObject({ accepted: 499, rejected: 1, duplicates: 0 })
  })

  test('of a deleted tenant are refused', async () => {
    const { principal } = await newTenant()
    await fixture.all`update tenants set deleted_at = now() where id = ${principal.tenantId}`
    await expect(ingest(principal, [event('a')])).rejects.toMatchObject({ code: 'invalid_token' })
    expect(await storedIds(principal.tenantId)).toEqual([])
  })
})

const hash = (text: string, seed: number): number => {
  let value = seed * 7919
  for (const unit of text) value = (value * 31 + unit.charCodeAt(0)) % 104_729
  return value
}

describe('checkpoints', () => {
  const put = (principal: AdapterPrincipal, update: Record<string, unknown>) =>
    writeCheckpoint(
      { db: fixture.db },
      {
        principal,
        update: {
          source: 'wazuh',
          cursor_ts: null,
          cursor_event_id: null,
          batch_seq: 0,
          dropped_total: 0,
          ...update,
        },
      },
    )

  test('begin with nulls and zeros and only move forward, each value by itself', async () => {
    const { principal } = await newTenant()
    expect(await readCheckpoint({ db: fixture.db }, { principal, source: 'wazuh' })).toEqual({
      source: 'wazuh',
      cursor_ts: null,
      cursor_event_id: null,
      batch_seq: 0,
      dropped_total: 0,
    })
    const first = { cursor_ts: '2026-01-01T00:00:01+0000', cursor_event_id: 'b', batch_seq: 5 }
    const stored = { cursor_ts: '2026-01-01T00:00:01.000Z', cursor_event_id: 'b' }
    expect(await put(principal, first)).toMatchObject({ ...stored, batch_seq: 5 })
    expect(await put(principal, { ...first, cursor_event_id: 'a', batch_seq: 6 })).toMatchObject({
      ...stored,
      batch_seq: 6,
    })
    expect(await put(principal, { cursor_ts: '2025-12-31T00:00:00Z', dropped_total: 3 })).toMatchObject({
      ...stored,
      batch_seq: 6,
      dropped_total: 3,
    })
    expect(await put(principal, {})).toMatchObject({ ...stored, batch_seq: 6, dropped_total: 3 })
    expect(await put(principal, { ...first, cursor_event_id: 'c' })).toMatchObject({ cursor_event_id: 'c' })
    const other = await readCheckpoint({ db: fixture.db }, { principal, source: 'other' })
    expect(other.cursor_ts).toBeNull()
  })
})

test('the configuration names tenant and pace', async () => {
  const { principal, slug } = await newTenant()
  const ctx = { db: fixture.db, heartbeatSeconds: 2, pollSeconds: 1 }
  const config = await readAdapterConfig(ctx, { principal })
  expect(v.is(AdapterConfig, config)).toBe(true)
  expect(config).toMatchObject({
    slug,
    state: 'pending',
    heartbeat_seconds: 2,
    poll_seconds: 1,
    batch_size: 500,
  })
})

describe('heartbeats', () => {
  const beat = (principal: AdapterPrincipal, change: object = {}, renewLease = (): void => undefined) =>
    recordHeartbeat(
      { db: fixture.db, clock: () => new Date(), renewLease, hit: noFailpoints },
      {
        principal,
        heartbeat: v.parse(Heartbeat, {
          tenant_id: principal.tenantId,
          version: '1.2.3',
          health: 'ok',
          ...change,
        }),
      },
    )

  test('are kept in a table of their own and move no state', async () => {
    const { principal } = await newTenant()
    const answer = await beat(principal, { metrics: { lag: 3 } })
    expect(v.is(HeartbeatAnswer, answer)).toBe(true)
    expect(answer.state).toBe('pending')
    await beat(principal, { health: 'indexer unreachable' })
    const rows = await fixture.all`select * from tenant_heartbeats where tenant_id = ${principal.tenantId}`
    expect(rows).toMatchObject([{ version: '1.2.3', health: 'indexer unreachable', metrics: null }])
  })

  test('for another tenant than the token’s are refused and change nothing', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const foreign = beat(one.principal, { tenant_id: two.principal.tenantId })
    await expect(foreign).rejects.toMatchObject({ code: 'forbidden_target' })
    const rows = await fixture.all`select from tenant_heartbeats where tenant_id = ${two.principal.tenantId}`
    expect(rows).toHaveLength(0)
  })

  test('people cannot send them', async () => {
    const heartbeat = { tenant_id: randomUUID(), version: '1', health: 'ok', metrics: null }
    const ctx = { db: fixture.db, clock: () => new Date(), renewLease: () => undefined, hit: noFailpoints }
    const sent = recordHeartbeat(ctx, { principal: msspUser('platform_admin'), heartbeat })
    await expect(sent).rejects.toBeInstanceOf(ServiceError)
  })
})

describe('the lease in the cluster', () => {
  type Lease = KubeObject & { readonly spec: { readonly renewTime: string } }
  const leaseOf = (slug: string) =>
    fixture.cluster.get<Lease>(LEASES, { name: 'adapter', namespace: namespaceOf(slug) })

  test('waits for the namespace, is made with the first heartbeat after it, then renewed twice a minute at most', async () => {
    const { slug } = await newTenant()
    let now = new Date()
    const renew = createLeaseRenewer({ cluster: fixture.cluster, clock: () => now, log: silent })
    await renew('id', slug)
    expect(await leaseOf(slug)).toBeNull()
    await fixture.cluster.create(NAMESPACES, { metadata: { name: namespaceOf(slug) } })
    await renew('id', slug)
    const first = (await leaseOf(slug))?.spec.renewTime
    expect(first).toBeDefined()
    now = new Date(now.getTime() + 29_000)
    await renew('id', slug)
    expect((await leaseOf(slug))?.spec.renewTime).toBe(first)
    now = new Date(now.getTime() + 1_000)
    await renew('id', slug)
    expect((await leaseOf(slug))?.spec.renewTime).not.toBe(first)
  })

  test('a cluster that fails is no failure of the heartbeat, and is tried again with the next one', async () => {
    const warnings: string[] = []
    const cluster = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'test' })
    const log = { ...silent, warn: (_: object, message: string) => void warnings.push(message) }
    const renew = createLeaseRenewer({ cluster, clock: () => new Date(), log })
    await renew('id', 'acme')
    await renew('id', 'acme')
    expect(warnings).toHaveLength(2)
  })
})
