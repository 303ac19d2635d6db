import { randomUUID } from 'node:crypto'
import type { MsspPrincipal, TenantPrincipal } from '@service/domain'
import { AuditList, AuditRecord, TenantAuditList } from '@service/wire'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pruneAudit } from '../../src/jobs/audit-retention.ts'
import { silent } from '../../src/log.ts'
import { listAudit, listTenantAudit } from '../../src/verbs/audit/list.ts'
import { type Fixture, msspUser, startFixture } from '../support/fixture.ts'
import { callText, cookieOf, CUSTOMER, FAKE, startHttp } from '../support/http.ts'

let database: Fixture
let server: Awaited<ReturnType<typeof startHttp>>
const other = randomUUID()
const actor = randomUUID()

type Row = {
  tenant_id?: string | null
  action?: string
  acting_as?: string
  timestamp?: Date
  after?: object
}
const add = async (row: Row = {}) => {
  const id = randomUUID()
  const after = row.after === undefined ? null : JSON.stringify(row.after)
  await database.all`
    insert into audit_log (id, timestamp, tenant_id, actor_principal, actor_id, action, resource_type, resource_id,
                           after, acting_as, request_id)
    values (${id}, coalesce(${row.timestamp ?? null}, now()), ${row.tenant_id ?? null}, 'User', ${actor},
            ${row.action ?? 'user.create'}, 'user', ${randomUUID()}, ${after}, ${row.acting_as ?? null}, 'r-1')`
  return id
}
beforeAll(async () => {
  database = await startFixture()
  server = await startHttp(database)
})
afterAll(async () => {
  await server?.stop()
  await database?.stop()
})

const customer: TenantPrincipal = {
  kind: 'user',
  audience: 'tenant',
  userId: FAKE.userId,
  role: 'customer_viewer',
  tenantId: FAKE.tenantId,
  sessionId: null,
}
const query = (filter: object = {}) => ({ limit: 50, total: false, actor: [actor], ...filter })
const staffSees = async (filter: object = {}, who: MsspPrincipal = msspUser('analyst')) => {
  const page = await listAudit(database, { principal: who, query: query(filter), whole: false })
  return v.parse(AuditList, page).items.map(({ id }) => id)
}
const get = (path: string, accept: string, place?: { host: string }) =>
  callText(server.port, {
    path,
    headers: {
      ...place,
      accept,
      cookie: cookieOf(place === undefined ? 'analyst' : 'customer_viewer'),
    },
  })

describe('the rows', () => {
  const at = new Date('2026-03-01T12:00:00.000Z')
  let ids: string[]
  beforeAll(async () => {
    ids = []
    // Of the same moment, so that the ids alone tell pages apart.
    for (let index = 0; index < 5; index += 1) ids.push(await add({ timestamp: at }))
    ids.sort((a, b) => (a < b ? 1 : -1))
  })

  test('come newest first, page by page, each once', async () => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listAudit(database, {
        principal: msspUser(),
        query: query({ limit: 2, cursor, total: true }),
        whole: false,
      })
      expect(page.total).toBe(5)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual(ids)
  })

  test('are filtered: since inclusive, until exclusive, tenant, actor, action', async () => {
    const own = await add({ tenant_id: FAKE.tenantId, action: 'tenant.create' })
    const foreign = await add({ tenant_id: other, action: 'tenant.retry' })
    expect(await staffSees({ since: at, until: new Date(at.getTime() + 1) })).toEqual(ids)
    expect(await staffSees({ until: at })).toEqual([])
    expect(await staffSees({ tenant: [FAKE.tenantId] })).toEqual([own])
    expect((await staffSees({ tenant: [FAKE.tenantId, other] })).toSorted()).toEqual(
      [own, foreign].toSorted(),
    )
    expect(await staffSees({ action: ['tenant.retry'] })).toEqual([foreign])
    expect(await staffSees({ actor: ['nobody'] })).toEqual([])
    const inside = { ...msspUser('analyst'), currentTenant: other }
    expect(await staffSees({}, inside)).toEqual([foreign])
    expect(await staffSees({ tenant: [FAKE.tenantId] }, inside)).toEqual([])
  })

  test('of the own tenant alone are a customer’s, with those of MSSP staff marked', async () => {
    const [own, staffs] = [
      await add({ tenant_id: FAKE.tenantId, action: 'user.update' }),
      await add({ tenant_id: FAKE.tenantId, action: 'user.update', acting_as: FAKE.tenantId }),
    ]
    await add({ tenant_id: other, action: 'user.update' })
    const page = await listTenantAudit(database, {
      principal: customer,
      query: query({ action: ['user.update'] }),
      whole: false,
    })
    const seen = v.parse(TenantAuditList, page).items.map(({ id, impersonation }) => [id, impersonation])
    expect(Object.fromEntries(seen)).toEqual({ [own]: false, [staffs]: true })
  })
})

describe('an export', () => {
  test('is CSV with the fields of S in order, quoted where needed', async () => {
    const id = await add({ action: 'user.deactivate', after: { name: 'a "b", c\nd' } })
    const { headers, text } = await get('/api/audit?action=user.deactivate&limit=1', 'text/csv')
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    const [head, row] = text.split('\r\n')
    expect(head).toBe(Object.keys(AuditRecord.entries).join(','))
    expect(row?.startsWith(`${id},20`)).toBe(true)
    expect(row).toContain(`,"{""name"":""a \\""b\\"", c\\nd""}",`)
    const portal = await get('/api/tenant/audit', 'text/csv', { host: CUSTOMER.host })
    expect(portal.text.split('\r\n')[0]).toMatch(/,details,impersonation$/)
  })

  test('is NDJSON of at most 10 000 rows, and says where the rest is', async () => {
    await database.all`
      insert into audit_log (id, timestamp, actor_principal, actor_id, action, resource_type)
      select gen_random_uuid(), now() - n * interval '1 second', 'System', 'system:test', 'bulk', 'x'
        from generate_series(1, 10050) n`
    const seen = new Set<string>()
    let path: string | undefined = '/api/audit?action=bulk&actor=system%3Atest'
    const sizes: number[] = []
    while (path !== undefined) {
      const { status, headers, text } = await get(path, 'application/x-ndjson')
      expect(status).toBe(200)
      const rows = text
        .trimEnd()
        .split('\n')
        .map((line) => v.parse(AuditRecord, JSON.parse(line)))
      sizes.push(rows.length)
      for (const { id } of rows) seen.add(id)
      path = /^<(.+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1]
    }
    expect([sizes, seen.size]).toEqual([[10_000, 50], 10_050])
  })

  test.each(['application/json', '*/*', 'text/html', ''])('Accept %j is a page of JSON', async (accept) => {
    const { headers, text } = await get('/api/audit?limit=1', accept)
    expect(headers['content-type']).toBe('application/json')
    expect(v.parse(AuditList, JSON.parse(text)).items).toHaveLength(1)
  })
})

test('rows are forgotten after 90 days, and not before', async () => {
  const day = 24 * 3_600_000
  const old = await add({ timestamp: new Date(Date.now() - 91 * day) })
  const young = await add({ timestamp: new Date(Date.now() - 89 * day) })
  await pruneAudit({ db: database.db, log: silent })
  expect(await pruneAudit({ db: database.db, log: silent })).toBe(0)
  const left = await database.all`select id from audit_log where id in (${old}, ${young})`
  expect(left).toEqual([{ id: young }])
})
