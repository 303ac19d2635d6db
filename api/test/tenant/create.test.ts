import { materialKey, materialSecretName, ServiceError, TENANT_SECRETS } from '@service/domain'
import { createKubeClient, type KubeObject, SECRETS } from '@service/kube'
import * as v from 'valibot'
import { TenantCreated, TenantDetail } from '@service/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMaterialStore } from '../../src/secrets/material.ts'
import { createTenant, onboardTenant } from '../../src/verbs/tenant/create.ts'
import { getTenant } from '../../src/verbs/tenant/get.ts'
import { listLifecycle } from '../../src/verbs/tenant/lifecycle.ts'
import { listTenants } from '../../src/verbs/tenant/list.ts'
import { rowCounts } from '../support/database.ts'
import { type Fixture, freshSlug, msspUser, startFixture, tenantInput } from '../support/fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await startFixture()
})
afterAll(() => fixture?.stop())

const principal = msspUser()
const create = (input: Record<string, unknown> = {}) =>
  createTenant(fixture.tenants, { principal, requestId: 'req-1', tenant: tenantInput(input) })
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )
type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> }
const secretOf = (name: string) =>
  fixture.cluster.get<Secret>(SECRETS, { name, namespace: fixture.tenants.installNamespace })
const listQuery = (query: object = {}) => ({
  limit: 50,
  total: false,
  deleted: false,
  cursor: undefined,
  state: undefined,
  q: undefined,
  ...query,
})

describe('creating a tenant', () => {
  test('writes all its rows in one go and answers it', async () => {
    const tenant = await create({ llm: { api_key: 'sk-secret' } })
    expect(v.is(TenantCreated, tenant)).toBe(true)
    expect(tenant).toMatchObject({ state: 'pending', generation: 1, contact: null, error: null })
    const rows = async (table: string) => {
      const column = table === 'tenants' ? 'id' : 'tenant_id'
      return fixture.all`select * from ${fixture.all(table)} where ${fixture.all(column)} = ${tenant.id}`
    }
    for (const table of ['tenants', 'tenant_statuses', 'tenant_installations', 'integration_configs'])
      expect(await rows(table)).toHaveLength(1)
    expect(await rows('reconcile_queue')).toHaveLength(1)
    expect(await rows('tenant_secrets')).toHaveLength(2 + Object.keys(TENANT_SECRETS).length)
    expect(await rows('tenant_lifecycle_events')).toMatchObject([
      { kind: 'tenant.created', to_state: 'pending' },
    ])
    const audit = await rows('audit_log')
    expect(audit).toMatchObject([
      { action: 'tenant.create', actor_id: principal.userId, request_id: 'req-1', acting_as: tenant.id },
    ])
    expect(JSON.stringify(audit)).not.toContain('sk-secret')
  })

  test('puts the material into the cluster, labelled, and nothing of it into the rows but the LLM key', async () => {
    const tenant = await create({ llm: { api_key: 'sk-very-secret' } })
    const secret = await secretOf(materialSecretName(tenant.id))
    const value = (name: string, key: string) =>
      Buffer.from(secret?.data[materialKey(name, key)] ?? '', 'base64').toString()
    for (const { name, keys } of Object.values(TENANT_SECRETS))
      for (const key of keys) expect(value(name, key), `${name}.${key}`).not.toBe('')
    expect(value('tenant-llm-key', 'api_key')).toBe('sk-very-secret')
    expect(value('wazuh-authd-secret', 'password')).toMatch(/^[A-Za-z0-9_-]{48}$/)
    expect(value('wazuh-credentials', 'indexer_password')).toMatch(/^[A-Za-z0-9_-]{32}$/)
    expect(await fixture.tokens.verify('adapter', value('adapter-token', 'token'))).toEqual({
      tenantId: tenant.id,
      tokenVersion: 1,
    })
    expect(secret?.metadata.labels).toMatchObject({ 'managed-by': 'service', 'tenant-id': tenant.id })
    expect(secret?.metadata.annotations).toMatchObject({ 'service.dev/secrets-revision': '1' })
    expect(await secretOf(`tenant-${tenant.id}-llm`)).not.toBeNull()
  })

  test('without a cluster, or with one that fails, answers 503 and stores nothing', async () => {
    const before = await rowCounts(fixture.all)
    const failing = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'test' })
    for (const cluster of [null, failing]) {
      const material = createMaterialStore(cluster, fixture.tenants.installNamespace)
      const made = createTenant(
        { ...fixture.tenants, material },
        { principal, requestId: 'r', tenant: tenantInput() },
      )
      expect(await codeOf(made)).toBe('unavailable')
    }
    expect(await rowCounts(fixture.all)).toEqual(before)
  })

  test('refuses a taken slug and a taken e-mail, also when creations race, and takes the material back', async () => {
    const slug = freshSlug('race')
    const email = `${slug}@example.com`
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => codeOf(create({ slug, contact_email: email }))),
    )
    expect(codes.toSorted()).toEqual(['done', 'slug_taken', 'slug_taken', 'slug_taken'])
    expect(await codeOf(create({ slug }))).toBe('slug_taken')
    expect(await codeOf(create({ contact_email: email.toUpperCase() }))).toBe('email_taken')
    const { items } = await fixture.cluster.list<Secret>(SECRETS, {
      namespace: fixture.tenants.installNamespace,
      labelSelector: 'service.dev/material=true',
    })
    const ids = await fixture.all<{ id: string }[]>`select id from tenants`
    const known = new Set(ids.map(({ id }) => id))
    for (const { metadata } of items) expect(known.has(metadata.labels?.['tenant-id'] ?? '')).toBe(true)
  })

  test('refuses reserved slugs, and whoever may not create', async () => {
    expect(await codeOf(create({ slug: 'console' }))).toBe('validation_failed')
    const asAnalyst = createTenant(fixture.tenants, {
      principal: msspUser('analyst'),
      requestId: 'r',
      tenant: tenantInput(),
    })
    expect(await codeOf(asAnalyst)).toBe('capability_missing')
  })

  test('makes the first administrator and tells the temporary password once', async () => {
    const email = `${freshSlug()}@Example.com`
    const tenant = await create({ contact_email: email })
    expect(tenant.contact).toMatchObject({ email: email.toLowerCase() })
    expect(tenant.contact?.temporary_password).toHaveLength(24)
    const users = await fixture.all`select * from users where tenant_id = ${tenant.id}`
    expect(users).toMatchObject([{ email: email.toLowerCase(), role: 'tenant_admin', active: true }])
    const audit =
      await fixture.all`select action, after from audit_log where tenant_id = ${tenant.id} order by id`
    expect(audit.map(({ action }) => action)).toEqual(['tenant.create', 'user.create'])
    expect(JSON.stringify(audit)).not.toContain(tenant.contact?.temporary_password)
  })

  test('fills in the defaults of install and profile', async () => {
    const small = await create({ profile: 'small-dev' })
    const own = await create({ llm: { base_url: 'https://own.example.org:8443/v1', model: 'big' } })
    const none = await create({ llm: { base_url: '' } })
    const detail = (id: string) => getTenant(fixture.tenants, { principal, id })
    const [a, b, c] = await Promise.all([detail(small.id), detail(own.id), detail(none.id)])
    expect(a.config.components.wazuh.dashboard.enabled).toBe(false)
    expect(a.config.network.allowed_llm_hosts).toEqual(['llm.example.com'])
    expect(b.config.components.wazuh.dashboard.enabled).toBe(true)
    expect(b.config.network.allowed_llm_hosts).toEqual(['own.example.org'])
    expect(b.llm).toMatchObject({ provider: 'openai-compatible', model: 'big', has_api_key: false })
    expect(c.config.network.allowed_llm_hosts).toEqual([])
  })

  test('onboarding is the short form', async () => {
    const slug = freshSlug('on')
    const tenant = await onboardTenant(fixture.tenants, {
      principal,
      requestId: 'r',
      tenant: { slug, display_name: 'On', profile: 'small-dev', llm_api_key: 'k', branding_app_name: 'App' },
    })
    const detail = await getTenant(fixture.tenants, { principal, id: tenant.id })
    expect(detail).toMatchObject({ slug, branding: { app_name: 'App' }, llm: { has_api_key: true } })
  })
})

describe('reading tenants', () => {
  test('the detail fits its schema and never shows the key', async () => {
    const { id } = await create({ llm: { api_key: 'sk-hidden' } })
    const detail = await getTenant(fixture.tenants, { principal, id })
    expect(v.safeParse(TenantDetail, detail).issues).toBeUndefined()
    expect(JSON.stringify(detail)).not.toContain('sk-hidden')
    expect(detail.llm?.key_fingerprint).toMatch(/^[0-9a-f]{12}$/)
    expect(detail.steps.map(({ step, status }) => `${step} ${status}`)).toEqual([
      'namespace waiting',
      'secrets waiting',
      'release waiting',
      'workloads waiting',
      'heartbeat waiting',
    ])
    const forAnalyst = await getTenant(fixture.tenants, { principal: msspUser('analyst'), id })
    expect(forAnalyst.llm).toBeNull()
  })

  test('an unknown tenant is not found, for its lifecycle neither', async () => {
    const id = crypto.randomUUID()
    expect(await codeOf(getTenant(fixture.tenants, { principal, id }))).toBe('not_found')
    const query = {
      limit: 50,
      total: false,
      cursor: undefined,
      kind: undefined,
      since: undefined,
      until: undefined,
    }
    expect(await codeOf(listLifecycle(fixture.tenants, { principal, id, query }))).toBe('not_found')
  })

  test('pages meet every tenant once, newest first, and filters narrow them', async () => {
    const tag = freshSlug('page')
    for (let index = 0; index < 5; index += 1) await create({ display_name: `${tag} ${index}%_` })
    const names: string[] = []
    let cursor: string | undefined
    do {
      const query = listQuery({ limit: 2, q: tag.toUpperCase(), cursor, total: true })
      const page = await listTenants(fixture.tenants, { principal, query })
      expect(page.total).toBe(5)
      names.push(...page.items.map(({ display_name }) => display_name))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(names).toEqual([4, 3, 2, 1, 0].map((index) => `${tag} ${index}%_`))
    const literal = await listTenants(fixture.tenants, { principal, query: listQuery({ q: '%' }) })
    expect(literal.items.every(({ display_name }) => display_name.includes('%'))).toBe(true)
    const active = await listTenants(fixture.tenants, { principal, query: listQuery({ state: ['active'] }) })
    expect(active.items).toEqual([])
  })

  test.each(['x', 'e30', Buffer.from('["2026-01-01","x"]').toString('base64url')])(
    'a cursor that is not one, %s, is a finding at /cursor',
    async (cursor) => {
      const listed = listTenants(fixture.tenants, { principal, query: listQuery({ cursor }) })
      await expect(listed).rejects.toMatchObject({
        code: 'validation_failed',
        extras: { errors: [{ pointer: '/cursor' }] },
      })
    },
  )

  test('a deleted tenant is hidden from lists, readable by id, and its slug is free again', async () => {
    const gone = await create()
    await fixture.all`update tenants set deleted_at = now() where id = ${gone.id}`
    const ids = async (deleted: boolean) => {
      const query = listQuery({ q: gone.slug, deleted })
      return (await listTenants(fixture.tenants, { principal, query })).items.map(({ id }) => id)
    }
    expect(await ids(false)).toEqual([])
    expect(await ids(true)).toEqual([gone.id])
    expect((await getTenant(fixture.tenants, { principal, id: gone.id })).deleted_at).not.toBeNull()
    expect(await codeOf(create({ slug: gone.slug }))).toBe('done')
  })
})
