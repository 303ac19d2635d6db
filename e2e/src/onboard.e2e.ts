import { generateAlerts, loadAlerts, readAlertsFile, readSystemConfig, WHOLE_HISTORY } from '@service/dev'
import {
  CA_KEY_MATERIAL,
  INSTALL_NAMESPACE,
  materialKey,
  materialSecretName,
  TENANT_SECRETS,
} from '@service/domain'
import type { LifecycleEvent, TenantDetail } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plantCanaries, SIGNING_KEYS } from './canaries.ts'
import { worldFile } from './config.ts'
import { clusterPlaces, databasePlaces, sightings } from './everywhere.ts'
import { CANARY, createTenant, history, startWorld, until, untilActive, type World } from './harness.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ separateOperator: false, extraEnv: () => SIGNING_KEYS })
}, 900_000)
afterAll(() => world?.end())

describe('one REST call', () => {
  let tenant: TenantDetail
  const phases: string[] = []

  it('walks a tenant from pending to active', async () => {
    const created = await createTenant(world, 'acme')
    expect(created).toMatchObject({ slug: 'acme', state: 'pending', error: null })
    tenant = await until('tenant acme to be active', async () => {
      const seen = await world.rest.call<TenantDetail>('GET', `/api/mssp/tenants/${created.id}`)
      if (phases.at(-1) !== seen.state) phases.push(seen.state)
      return seen.state === 'active' ? seen : undefined
    })
    expect(['pending', 'provisioning', 'active'].filter((phase) => phases.includes(phase))).toEqual(phases)
    expect(phases.at(-1)).toBe('active')
  })

  it('tells the whole story by REST', async () => {
    expect(tenant.steps.map((each) => [each.step, each.status])).toEqual(
      ['namespace', 'secrets', 'release', 'workloads', 'heartbeat'].map((name) => [name, 'done']),
    )
    for (const type of [
      'Ready',
      'NamespaceReady',
      'SecretsReady',
      'ReleaseInstalled',
      'WorkloadsReady',
      'AdapterConnected',
    ])
      expect(tenant.conditions.find((each) => each.type === type)?.status, type).toBe('True')
    const { status } = JSON.parse(await world.kubectl('get', 'tenants.service.dev/acme', '-o', 'json')) as {
      status: { release: { valuesDigest: string; manifestDigest: string } }
    }
    const time = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/)
    expect(tenant.installation).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      release_name: 'service-tenant',
      namespace: 'tenant-acme',
      chart_ref: expect.any(String),
      chart_version: '0.1.0',
      desired_chart_version: '0.1.0',
      revision: 1,
      status: 'deployed',
      values_digest: status.release.valuesDigest,
      manifest_digest: status.release.manifestDigest,
      installed_at: time,
      updated_at: time,
      last_error: null,
      agent: null,
    })
    for (const digest of [status.release.valuesDigest, status.release.manifestDigest])
      expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    await until('an honest "ok" of the adapter', async () => {
      const { runtime } = await world.rest.call<TenantDetail>('GET', `/api/mssp/tenants/${tenant.id}`)
      return runtime.health === 'ok'
    })
    expect(tenant.llm).toMatchObject({ has_api_key: true })
    expect(JSON.stringify(tenant)).not.toContain(CANARY)
  })

  it('leaves one lifecycle row for each step and transition, in order', async () => {
    expect(await history(world, tenant.id)).toEqual(WHOLE_HISTORY)
    const listed = await world.rest.call<{ items: LifecycleEvent[] }>(
      'GET',
      `/api/mssp/tenants/${tenant.id}/lifecycle?limit=200`,
    )
    expect(listed.items.map((each) => each.kind).toReversed()).toEqual(
      WHOLE_HISTORY.map((line) => line.split(' ')[0]),
    )
  })

  it('leaves the audit rows of the mutation and of each transition', async () => {
    const rows = await world.sql<{ action: string; actor_principal: string }[]>`
      select action, actor_principal from audit_log where tenant_id = ${tenant.id} order by timestamp, id`
    expect(rows.map((row) => `${row.action} ${row.actor_principal}`)).toEqual([
      'tenant.create User',
      'tenant.state_changed System',
      'tenant.state_changed System',
    ])
  })

  it('is readable by kubectl', async () => {
    await world.kubectl('wait', '--for=condition=Ready', 'tenants.service.dev/acme', '--timeout=30s')
    expect(await world.kubectl('get', 'tenants')).toMatch(/acme\s+active\s+True/)
    const described = await world.kubectl('describe', 'tenants.service.dev/acme')
    for (const part of ['Phase:', 'active', 'Conditions:', 'Journal:', 'Events:', 'AdapterConnected'])
      expect(described).toContain(part)
    expect(described).not.toContain(CANARY)
  })

  it('has the whole stack of its profile, with volumes', async () => {
    const get = (kind: string, field: string) =>
      world.kubectl('-n', 'tenant-acme', 'get', kind, '-o', `jsonpath={range .items[*]}{${field}} {end}`)
    expect((await get('statefulsets,deployments', '.metadata.name')).trim().split(' ').toSorted()).toEqual([
      'service-tenant-adapter',
      'service-tenant-runs-worker',
      'wazuh-indexer',
      'wazuh-manager',
    ])
    expect(await get('statefulsets', '.status.readyReplicas')).toBe('1 1 ')
    expect(await get('persistentvolumeclaims', '.status.phase')).toBe('Bound Bound ')
    const { labels } = (
      JSON.parse(await world.kubectl('get', 'namespace', 'tenant-acme', '-o', 'json')) as {
        metadata: { labels: Record<string, string> }
      }
    ).metadata
    expect(labels['pod-security.kubernetes.io/enforce']).toBe('baseline')
  })

  it('stores the alerts exactly once, all accepted', async () => {
    const { alertsFile } = readSystemConfig()
    const alerts =
      alertsFile === undefined
        ? generateAlerts({ count: 300, seed: 7, until: new Date(), minutes: 60 })
        : await readAlertsFile(alertsFile)
    const ids = new Set(alerts.map((alert) => (alert as { id: string }).id))
    await loadAlerts(world.connection.indexer_url, 'acme', alerts)
    await until(`${ids.size} alerts to be stored`, async () => {
      const [row] = await world.sql<{ count: number }[]>`
        select count(*)::int as count from events where tenant_id = ${tenant.id} and kind = 'event.ingested'`
      return (row?.count ?? 0) >= ids.size
    })
    // Two more polls of the adapter read the same five minutes again: nothing may come twice.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const stored = await world.sql<{ id: string; tenant_id: string }[]>`
      select payload ->> 'source_event_id' as id, tenant_id from events
      where kind = 'event.ingested' and (tenant_id = ${tenant.id} or
        payload ->> 'source_event_id' in (select jsonb_array_elements_text(${world.sql.json([...ids])})))`
    expect(stored.length).toBe(ids.size)
    expect(new Set(stored.map((row) => row.id))).toEqual(ids)
    const [checkpoint] = await world.sql<{ dropped_total: string }[]>`
      select dropped_total from adapter_checkpoints where tenant_id = ${tenant.id}`
    expect(Number(checkpoint?.dropped_total)).toBe(0)
  })
})

describe('failures on the way', () => {
  it('an API killed at any moment of provisioning loses nothing', async () => {
    for (const [index, delay] of [150, 700, 1500].entries()) {
      const tenant = await createTenant(world, `killed-${index}`)
      await new Promise((resolve) => setTimeout(resolve, delay))
      world.system.kill('api')
      const active = await untilActive(world, tenant.id)
      expect(active.state).toBe('active')
      expect(await history(world, tenant.id)).toEqual(WHOLE_HISTORY)
    }
  }, 300_000)
})

// A kind node of two cores has no room for so many pods.
const AT_ONCE = worldFile() === undefined ? 10 : 4

describe(`${AT_ONCE} tenants created at once`, () => {
  it('become active, each with a namespace and a story of its own', async () => {
    const slugs = Array.from({ length: AT_ONCE }, (_, index) => `many-${index}`)
    const created = await Promise.all(slugs.map((slug) => createTenant(world, slug)))
    const active = await Promise.all(created.map(({ id }) => untilActive(world, id, 240_000)))
    expect(active.map(({ slug, installation }) => [slug, installation?.namespace])).toEqual(
      slugs.map((slug) => [slug, `tenant-${slug}`]),
    )
    for (const { id } of active) expect(await history(world, id)).toEqual(WHOLE_HISTORY)
  }, 300_000)
})

describe('secrets', () => {
  it('stand where they belong and nowhere else: database, resources, releases, Events, logs, REST', async () => {
    const tenant = await createTenant(world, 'canary')
    await untilActive(world, tenant.id)
    const material = await secretsOf(world, INSTALL_NAMESPACE, materialSecretName(tenant.id))
    // User names are fixed, and the authority's certificate is there to be shown.
    const secrets = new Map([...material].filter(([key]) => !/username$|[.]ca[.]crt$/.test(key)))
    secrets.set('administrator', world.connection.admin.password)
    for (const [role, url] of Object.entries(world.connection.databases))
      secrets.set(`database ${role}`, new URL(url).password)
    if (worldFile() === undefined)
      for (const [name, key] of Object.entries(SIGNING_KEYS)) secrets.set(name, key)
    const planted = await plantCanaries(world, tenant)
    for (const [name, value] of planted.secrets) secrets.set(name, value)

    const answers = ['', `/${tenant.id}`, `/${tenant.id}/lifecycle?limit=200`].map(async (path) => ({
      name: `GET ${path}`,
      text: JSON.stringify(await world.rest.call('GET', `/api/mssp/tenants${path}`)),
    }))
    const places = [
      ...(await databasePlaces(world.connection.databases.admin)),
      ...(await clusterPlaces(world)),
      ...(await world.logs()),
      ...(await Promise.all(answers)),
      ...planted.answers,
      { name: 'audit', text: JSON.stringify(await world.rest.call('GET', '/api/audit?limit=200')) },
    ]
    for (const [name, value] of secrets) expect(value.length, name).toBeGreaterThan(9)
    for (const kind of [
      'database audit_log.',
      'Secret tenant-canary/sh.helm.release',
      'Event',
      'log api',
      'Tenant ',
    ])
      expect(
        places.some(({ name }) => name.startsWith(kind)),
        kind,
      ).toBe(true)
    console.log(`S7: ${secrets.size} secrets looked for in ${places.length} places`)

    const own = [...secrets.keys()]
      .filter((key) => material.has(key))
      .flatMap((key) => {
        const at = key.indexOf('.')
        const kept = `${key}: Secret ${INSTALL_NAMESPACE}/${materialSecretName(tenant.id)} ${key}`
        const copied = `${key}: Secret tenant-canary/${key.slice(0, at)} ${key.slice(at + 1)}`
        return key === CA_KEY_MATERIAL ? [kept] : [kept, copied]
      })
    const llmKey = materialKey(TENANT_SECRETS.llmKey.name, 'api_key')
    // What the installed control plane itself is given stands in Secrets of its own, on kind.
    const elsewhere = sightings(places, secrets).filter(
      (each) =>
        !each.startsWith(`${llmKey}: `) && !each.includes(`: Secret ${INSTALL_NAMESPACE}/service-system-`),
    )
    expect(elsewhere).toEqual(own.filter((each) => !each.startsWith(`${llmKey}: `)).toSorted())
    // Every tenant of this world has the same LLM key.
    const kinds = sightings(places, new Map([[llmKey, CANARY]])).map((each) =>
      each
        .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, '<id>')
        .replace(/tenant-[a-z]+[a-z0-9-]*\//, 'tenant-<slug>/'),
    )
    expect([...new Set(kinds)]).toEqual([
      `${llmKey}: Secret ${INSTALL_NAMESPACE}/tenant-<id> ${llmKey}`,
      `${llmKey}: Secret ${INSTALL_NAMESPACE}/tenant-<id>-llm api_key`,
      `${llmKey}: Secret tenant-<slug>/tenant-llm-key api_key`,
      `${llmKey}: database integration_configs.llm_api_key_plain`,
    ])
  }, 120_000)
})

async function secretsOf(world: World, namespace: string, name: string): Promise<Map<string, string>> {
  const text = await world.kubectl('get', 'secret', '-n', namespace, name, '-o', 'json')
  const { data } = JSON.parse(text) as { data: Record<string, string> }
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
}
