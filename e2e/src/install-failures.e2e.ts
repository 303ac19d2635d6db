import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TenantDetail } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CANARY, createTenant, history, startWorld, until, untilActive, type World } from './harness.ts'
import { WHOLE_HISTORY } from '@service/dev'

const CHART = fileURLToPath(new URL('../../charts/service-tenant', import.meta.url))
/** What a chart might say of a Secret that it can read. */
const BROKEN = `{{- $secret := lookup "v1" "Secret" .Release.Namespace "tenant-llm-key" }}
{{- fail (printf "broken on purpose: %v" $secret.data) }}
`
/** Less than the pods of one tenant need, as a person might set it. */
const SMALL_QUOTA = `{{- if eq .Values.tenant.slug "cramped" }}
apiVersion: v1
kind: ResourceQuota
metadata: { name: too-small }
spec: { hard: { pods: "0" } }
{{- end }}
`
const FAILED = [
  'tenant.created none>pending',
  'step.started namespace',
  'step.done namespace',
  'step.started secrets',
  'step.done secrets',
  'step.started release',
  'step.failed release',
  'rolled_back release',
]

let world: World
let chart: string
let broken: string
/** Added to the environment of API and operator at their next start. */
let extra: Record<string, string> = {}
beforeAll(async () => {
  chart = await mkdtemp(join(tmpdir(), 'service-chart-'))
  broken = join(chart, 'templates', 'broken.yaml')
  await cp(CHART, chart, { recursive: true })
  await writeFile(broken, BROKEN)
  world = await startWorld({
    separateOperator: false,
    extraEnv: () => ({ SERVICE_TENANT_CHART: chart, ...extra }),
  })
}, 900_000)
afterAll(async () => {
  await world?.end()
  await rm(chart, { recursive: true, force: true })
})

/** Starts the API, and the operator in it, anew with this in its environment. */
async function restartWith(env: Record<string, string>): Promise<void> {
  extra = env
  await world.system.stop('api')
  await world.system.start('api')
}
/** The API's own full resync, which notices other images, comes only every few minutes. */
const project = (id: string) => world.sql`
  insert into reconcile_queue (tenant_id, marked_at, not_before)
  values (${id}, clock_timestamp(), clock_timestamp()) on conflict do nothing`
const detail = (id: string): Promise<TenantDetail> => world.rest.call('GET', `/api/mssp/tenants/${id}`)

describe('a chart that cannot be installed', () => {
  let tenant: TenantDetail

  it('is rolled back and told by REST', async () => {
    const { id } = await createTenant(world, 'broken')
    tenant = await until('the rollback', async () => {
      const seen = await detail(id)
      const over = seen.conditions.some(({ type, status }) => type === 'Stalled' && status === 'True')
      return seen.error !== null && over && seen
    })
    expect(tenant.state).toBe('pending')
    expect(tenant.error).toMatchObject({ step: 'release', reason: 'InstallFailed' })
    expect(tenant.error?.message).toContain('broken on purpose')
    expect(tenant.steps.map(({ step, status }) => `${step} ${status}`)).toContain('release failed')
    await until('the whole history', async () => (await history(world, id)).length === FAILED.length)
    expect(await history(world, id)).toEqual(FAILED)
    await expect(world.kubectl('get', 'namespace', 'tenant-broken')).rejects.toThrow('NotFound')
  })

  it('is readable by kubectl, and tells no secret anywhere', async () => {
    const described = await world.kubectl('describe', 'tenants.service.dev/broken')
    for (const part of ['Stalled', 'InstallFailed', 'broken on purpose', 'rolled_back', 'Evidence:'])
      expect(described).toContain(part)
    const rows = await world.sql<{ details: unknown }[]>`
      select details from tenant_lifecycle_events where tenant_id = ${tenant.id}`
    const everywhere = [described, JSON.stringify(rows), JSON.stringify(await detail(tenant.id))].join('\n')
    expect(everywhere).toContain('[secret]')
    expect(everywhere).not.toContain(CANARY)
    expect(everywhere).not.toContain(Buffer.from(CANARY).toString('base64'))
  })

  it('becomes active by a retry when the chart is repaired', async () => {
    await rm(broken)
    await world.rest.call('POST', `/api/mssp/tenants/${tenant.id}:retry`)
    const active = await untilActive(world, tenant.id)
    expect(active.error).toBeNull()
    const told = await history(world, tenant.id)
    expect(told.filter((line) => line.startsWith('retry.requested'))).toHaveLength(1)
    // Rows that the API writes stand before those of the operator.
    expect(told.filter((line) => !line.startsWith('retry.requested'))).toEqual([
      ...FAILED,
      ...WHOLE_HISTORY.slice(1),
    ])
  })
})

describe('an image that never starts', () => {
  it('is slow, not failed: the pod says why, and a repaired image ends it without a retry', async () => {
    await restartWith({ SERVICE_IMAGE_ADAPTER: 'service/unknown:1' })
    const { id } = await createTenant(world, 'imageless')
    await until('the tenant to be provisioning', async () => (await detail(id)).state === 'provisioning')
    await until('the node to refuse the image', async () =>
      /ImagePull|ErrImage/.test(await world.kubectl('get', 'pods', '-n', 'tenant-imageless', '-o', 'json')),
    )
    const waiting = await detail(id)
    expect(waiting.error).toBeNull()
    const { status, message } = waiting.conditions.find(({ type }) => type === 'WorkloadsReady') ?? {}
    expect(status).toBe('False')
    expect(message).toContain('adapter')
    await restartWith({})
    await project(id)
    const active = await untilActive(world, id)
    expect(active.error).toBeNull()
    expect((await history(world, id)).filter((line) => /step.failed|rolled_back/.test(line))).toEqual([])
  })
})

describe('the profile’s time runs out, here after ten seconds', () => {
  const CAUSES = { faceless: /ImagePull|ErrImage/, cramped: /exceeded quota: too-small/ } as const
  type Slug = keyof typeof CAUSES
  const slugs = Object.keys(CAUSES) as Slug[]
  const ids = new Map<Slug, string>()
  const idOf = (slug: Slug): string => ids.get(slug) ?? ''
  const quota = () => join(chart, 'templates', 'quota.yaml')

  it('degrades what has an image that never starts, or too small a quota, and does not roll it back', async () => {
    await writeFile(quota(), SMALL_QUOTA)
    await restartWith({
      SERVICE_IMAGE_ADAPTER: 'service/unknown:1',
      SERVICE_OPERATOR_READINESS_SECONDS: '10',
    })
    for (const slug of slugs) ids.set(slug, (await createTenant(world, slug)).id)
    for (const slug of slugs) {
      const degraded = await until(`${slug} to be degraded`, async () => {
        const seen = await detail(idOf(slug))
        return seen.state === 'degraded' && seen
      })
      expect(degraded.error).toMatchObject({ step: 'workloads', reason: 'TimedOut' })
      expect(degraded.conditions.find(({ type }) => type === 'Ready')).toMatchObject({
        status: 'False',
        reason: 'TimedOut',
      })
      expect(degraded.steps.find(({ step }) => step === 'workloads')?.status).not.toBe('done')
      const told = await history(world, idOf(slug))
      expect(told).toContain('state.changed provisioning>degraded')
      expect(told.filter((line) => line.startsWith('rolled_back'))).toEqual([])
      const [row] = await world.sql<{ seconds: number }[]>`
        select extract(epoch from max(at) filter (where to_state = 'degraded')
          - max(at) filter (where to_state = 'provisioning'))::float8 as seconds
        from tenant_lifecycle_events where tenant_id = ${idOf(slug)}`
      expect(row?.seconds).toBeGreaterThanOrEqual(10)
    }
  })

  it.each(slugs)('says by kubectl what keeps %s', async (slug) => {
    const described = await world.kubectl('describe', `tenants.service.dev/${slug}`)
    expect(described).toContain('TimedOut')
    expect(described).toContain('degraded')
    expect(described).toMatch(CAUSES[slug])
  })

  it('a quota is told by REST in so many words', async () => {
    const { conditions } = await detail(idOf('cramped'))
    expect(conditions.find(({ type }) => type === 'WorkloadsReady')?.message).toMatch(CAUSES.cramped)
  })

  it('both become active by a retry when the causes are mended', async () => {
    await rm(quota())
    await restartWith({})
    for (const slug of slugs) await project(idOf(slug))
    for (const slug of slugs) await world.rest.call('POST', `/api/mssp/tenants/${idOf(slug)}:retry`)
    for (const slug of slugs) {
      const active = await untilActive(world, idOf(slug))
      expect(active.error).toBeNull()
      const told = await history(world, idOf(slug))
      expect(told.filter((line) => line.startsWith('retry.requested'))).toHaveLength(1)
      expect(told).toContain('state.changed degraded>provisioning')
    }
  })
})
