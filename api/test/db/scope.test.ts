import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../dev/src/postgres/testing.ts'
import type { TestDatabase } from '../../../dev/src/postgres/testing.ts'
import { writeAudit } from '../../src/db/audit.ts'
import { withConnection } from '../../src/db/connection.ts'
import { createDatabase } from '../../src/db/database.ts'
import type { Database } from '../../src/db/database.ts'
import { isForbidden, isUnavailable, isUniqueViolation, PoolTimeoutError } from '../../src/db/errors.ts'
import { auditLog, integrationConfigs, tenants } from '../../src/db/schema/index.ts'
import { asInstall, asReader, asSystem, forTenant } from '../../src/db/scope.ts'
import type { Tx } from '../../src/db/scope.ts'
import { silent } from '../../src/log.ts'
import { rowFor } from './rows.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase('scope')
})
beforeEach(() => {
  db = createDatabase({ appUrl: database.urls.app, msspUrl: database.urls.mssp, max: 2, log: silent })
  return () => db.close()
})
afterAll(() => database.drop())

const insertTenant = (tx: Tx, id: string) => tx.sql`insert into tenants ${tx.sql(rowFor('tenants', id))}`
const entry = (tenantId: string | null) => ({
  principal: { kind: 'system', reason: 'test' } as const,
  action: 'tenant.create' as const,
  tenantId,
  resourceType: 'tenant',
  resourceId: tenantId,
  after: { text: 'it’s "quoted"\n' },
  requestId: 'r-1',
})
const auditOf = (resource: string) =>
  asReader(db, (tx) => tx.q.select().from(auditLog).where(eq(auditLog.resourceId, resource)))

describe('doors', () => {
  test('forTenant keeps tenants apart, also on one shared connection and at the same time', async () => {
    const ids = Array.from({ length: 6 }, () => randomUUID())
    await Promise.all(ids.map((id) => forTenant(db, id, (tx) => insertTenant(tx, id))))
    const seen = await Promise.all(
      ids.flatMap((id) => [
        forTenant(db, id, (tx) => tx.q.select({ id: tenants.id }).from(tenants)),
        forTenant(db, id, (tx) => tx.sql<{ id: string }[]>`select id from tenants`),
      ]),
    )
    expect(seen.map((rows) => rows.map((row) => row.id))).toEqual(ids.flatMap((id) => [[id], [id]]))
    expect(await asInstall(db, (tx) => tx.q.select().from(tenants))).toEqual([])
  })

  test('a failure undoes the transaction, and so does one that the callback swallows', async () => {
    const id = randomUUID()
    const swallowed = forTenant(db, id, async (tx) => {
      await insertTenant(tx, id)
      await insertTenant(tx, id).catch(() => undefined)
    })
    await expect(swallowed).rejects.toSatisfy((error) => isUniqueViolation(error, 'tenants_pkey'))
    expect(await forTenant(db, id, (tx) => tx.q.select().from(tenants))).toEqual([])
  })

  test('asReader reads all tenants and cannot write', async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    for (const id of [a, b]) await forTenant(db, id, (tx) => insertTenant(tx, id))
    const found = await asReader(db, (tx) => tx.q.select({ id: tenants.id }).from(tenants))
    expect(found.map((row) => row.id)).toEqual(expect.arrayContaining([a, b]))
    await expect(asReader(db, (tx) => tx.sql`update tenants set slug = slug`)).rejects.toMatchObject({
      code: '25006',
    })
  })

  test('asSystem says why in the audit log, a loop once an hour; a failed entry leaves nothing', async () => {
    const entered = async (reason: string) =>
      (
        await asReader(db, (tx) =>
          tx.q
            .select()
            .from(auditLog)
            .where(eq(auditLog.actorId, `system:${reason}`)),
        )
      ).length
    await asSystem(db, 'once', () => Promise.resolve())
    await asSystem(db, 'once', () => Promise.resolve())
    expect(await entered('once')).toBe(2)
    const failing = asSystem(db, 'looping', () => Promise.reject(new Error('no')), { loop: true })
    await expect(failing).rejects.toThrow('no')
    expect(await entered('looping')).toBe(0)
    for (let round = 0; round < 5; round += 1)
      await asSystem(db, 'looping', () => Promise.resolve(), { loop: true })
    expect(await entered('looping')).toBe(1)
  })

  test('whoever gets no connection in time is told so, and the callback never runs', async () => {
    let ran = false
    const { app: appUrl, mssp: msspUrl } = database.urls
    const db = createDatabase({ appUrl, msspUrl, max: 2, log: silent, acquireMs: 1_000 })
    const holders = [1, 2].map(() => asInstall(db, () => sleep(2_500)))
    await sleep(200)
    const late = asInstall(db, () => {
      ran = true
      return Promise.resolve()
    })
    await expect(late).rejects.toBeInstanceOf(PoolTimeoutError)
    await late.catch((error: unknown) => expect(isUnavailable(error)).toBe(true))
    await Promise.all(holders)
    await asInstall(db, () => Promise.resolve())
    await db.close()
    expect(ran).toBe(false)
  })

  test('an id that is no UUID never reaches the database', async () => {
    await expect(forTenant(db, "x' or true", () => Promise.resolve())).rejects.toBeInstanceOf(TypeError)
  })
})

describe('what drizzle writes and templates read', () => {
  test('JSON and moments are the same both ways', async () => {
    const id = randomUUID()
    const at = new Date('2026-03-04T05:06:07.089Z')
    const config = { a: ['1', 'ä', null], b: { c: 1.5 } } as unknown as typeof tenants.$inferInsert.config
    await forTenant(db, id, (tx) =>
      tx.q.insert(tenants).values({
        id,
        slug: `d-${id.slice(-12)}`,
        displayName: 'D',
        profile: 'pilot',
        placement: 'cluster',
        state: 'active',
        config,
        stateChangedAt: at,
      }),
    )
    const [drizzled] = await forTenant(db, id, (tx) => tx.q.select().from(tenants))
    const [plain] = await forTenant(
      db,
      id,
      (tx) => tx.sql<Record<string, unknown>[]>`select config, state_changed_at, spec_revision from tenants`,
    )
    expect(drizzled).toMatchObject({ config, stateChangedAt: at, specRevision: 1 })
    expect(plain).toEqual({ config, state_changed_at: at, spec_revision: 1 })
    await forTenant(db, id, (tx) => tx.sql`update tenants set config = ${tx.sql.json({ x: [1] })}`)
    const [changed] = await forTenant(db, id, (tx) => tx.q.select({ config: tenants.config }).from(tenants))
    expect(changed?.config).toEqual({ x: [1] })
  })

  test('an error never repeats the parameters of its query', async () => {
    const id = randomUUID()
    const secret = 'sk-very-secret'
    const failing = forTenant(db, id, (tx) =>
      tx.q.insert(integrationConfigs).values({
        tenantId: id,
        llmProvider: 'p',
        llmBaseUrl: 'u',
        llmModel: 'm',
        llmApiKeyPlain: secret,
      }),
    )
    const error: unknown = await failing.catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: '23503' })
    expect(String(error) + JSON.stringify(error)).not.toContain(secret)
  })
})

describe('audit', () => {
  test('rows of a tenant, of the install, and of both scopes carry what S lists', async () => {
    const id = randomUUID()
    await forTenant(db, id, (tx) => writeAudit(tx, entry(id)))
    const [row] = await auditOf(id)
    expect(row).toMatchObject({
      tenantId: id,
      actorPrincipal: 'System',
      actorId: 'system:test',
      action: 'tenant.create',
      after: { text: 'it’s "quoted"\n' },
      requestId: 'r-1',
      before: null,
    })
    const resource = randomUUID()
    await asInstall(db, (tx) => writeAudit(tx, { ...entry(null), resourceId: resource }))
    await forTenant(db, id, (tx) => writeAudit(tx, { ...entry(null), resourceId: resource }))
    expect((await auditOf(resource)).map((each) => each.tenantId)).toEqual([null, null])
  })

  test('no scope writes another tenant’s row', async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    const foreign = (tx: Tx) => writeAudit(tx, entry(b))
    await expect(forTenant(db, a, foreign)).rejects.toSatisfy(isForbidden)
    await expect(asInstall(db, foreign)).rejects.toSatisfy(isForbidden)
  })

  test('a tenant reads its own rows only, and none of the install', async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    for (const id of [a, b]) await forTenant(db, id, (tx) => writeAudit(tx, entry(id)))
    const seen = await forTenant(db, a, (tx) => tx.q.select().from(auditLog))
    expect(seen.map((row) => row.tenantId)).toEqual([a])
  })

  test('rows are kept 90 days, by the database’s clock', async () => {
    const rows = { old: randomUUID(), young: randomUUID() }
    await withConnection(database.superuserUrl, 'test', async (sql) => {
      await sql`insert into audit_log (id, timestamp, actor_principal, actor_id, action, resource_type, resource_id)
        values (${randomUUID()}, now() - interval '91 days', 'System', 'x', 'tenant.create', 'x', ${rows.old}),
               (${randomUUID()}, now() - interval '89 days', 'System', 'x', 'tenant.create', 'x', ${rows.young})`
    })
    await asSystem(db, 'prune', (tx) => tx.sql`select prune_audit(1000)`)
    expect(await auditOf(rows.old)).toEqual([])
    expect(await auditOf(rows.young)).toHaveLength(1)
    await expect(asInstall(db, (tx) => tx.sql`select prune_audit(1)`)).rejects.toSatisfy(isForbidden)
  })
})
