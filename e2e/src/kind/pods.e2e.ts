import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { clusterTools, ensureTools, generateAlerts, loadAlerts, NAMESPACE, signIn } from '@service/dev'
import type { TenantDetail, UserCreated } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTenant, startWorld, until, untilActive, type World } from '../harness.ts'

const TENANT = 'tenant-pods'

let world: World
let tenant: TenantDetail
beforeAll(async () => {
  world = await startWorld({ separateOperator: false })
  tenant = await untilActive(world, (await createTenant(world, 'pods')).id)
}, 300_000)
afterAll(() => world?.end())

type Pod = {
  readonly metadata: { readonly name: string; readonly uid: string; readonly labels: Record<string, string> }
  readonly status: {
    readonly phase: string
    readonly containerStatuses: readonly { readonly ready: boolean; readonly restartCount: number }[]
  }
}
async function podsOf(namespace: string): Promise<Pod[]> {
  const text = await world.kubectl('get', 'pods', '--namespace', namespace, '--output', 'json')
  return (JSON.parse(text) as { items: Pod[] }).items
}
const adapterPods = async () =>
  (await podsOf(TENANT)).filter(({ metadata }) => metadata.name.includes('-adapter-'))

describe("the tenant's pods", () => {
  it('are containers that run, unprivileged and on a read-only root', async () => {
    const pods = await podsOf(TENANT)
    expect(pods.length).toBeGreaterThan(0)
    for (const { status } of pods) expect(status.phase).toBe('Running')
    const [adapter] = await adapterPods()
    const script = `
      const { writeFileSync } = require('node:fs')
      let root = 'written'
      try { writeFileSync('/app/x', '') } catch (error) { root = error.code }
      process.stdout.write(JSON.stringify({ uid: process.getuid(), root }))`
    const name = adapter?.metadata.name ?? ''
    const self = await world.kubectl('exec', name, '--namespace', TENANT, '--', 'node', '--eval', script)
    expect(JSON.parse(self)).toEqual({ uid: 10_001, root: 'EROFS' })
  })

  it.each([NAMESPACE, TENANT])(
    'of %s would all be admitted under Pod Security "restricted"',
    async (namespace) => {
      const { kubectl } = await ensureTools()
      const label = 'pod-security.kubernetes.io/enforce=restricted'
      const args = ['label', 'namespace', namespace, label, '--overwrite', '--dry-run=server']
      const { status, stderr } = spawnSync(kubectl, ['--kubeconfig', world.connection.kubeconfig, ...args], {
        encoding: 'utf8',
      })
      // The API server names each pod that exists and would not be admitted in a warning.
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    },
  )

  it('of the API set a password by "kubectl exec", which then lets its user in', async () => {
    const [email, password] = ['locked-out@example.test', randomBytes(18).toString('base64url')]
    const user = { email, display_name: 'Locked out', role: 'analyst' }
    await world.rest.call<UserCreated>('POST', '/api/mssp/users', user)
    const { kubectl } = await clusterTools(world.connection.kubeconfig)
    const command = ['service-auth', 'set-password', email]
    const exec = ['exec', '-i', 'deploy/service-system-api', '--namespace', NAMESPACE, '--', ...command]
    expect(await kubectl(exec, `${password}\n`)).toContain(email)
    await signIn({ ...world.connection, admin: { email, password } })
    await expect(kubectl(exec, 'short\n')).rejects.toThrow(/ended with 4: [^]*service-auth: The password/)
  })

  it('come back when they are killed, and no alert is lost or stored twice', async () => {
    const [before] = await adapterPods()
    const alerts = generateAlerts({ count: 400, seed: 21, until: new Date(), minutes: 2 }) as ({
      id: string
    } & Parameters<typeof loadAlerts>[2][number])[]
    await loadAlerts(world.connection.indexer_url, 'pods', alerts.slice(0, 200))
    const now = ['--grace-period=0', '--force', '--wait=false']
    await world.kubectl('delete', 'pod', before?.metadata.name ?? '', '--namespace', TENANT, ...now)
    await loadAlerts(world.connection.indexer_url, 'pods', alerts.slice(200))
    await until('another adapter', async () => {
      const pods = await adapterPods()
      return pods.some(
        ({ metadata, status }) => metadata.uid !== before?.metadata.uid && status.phase === 'Running',
      )
    })
    const stored = () => world.sql<{ id: string }[]>`
      select payload ->> 'source_event_id' as id from events
      where tenant_id = ${tenant.id} and kind = 'event.ingested'`
    await until('all alerts', async () => (await stored()).length >= alerts.length)
    const ids = (await stored()).map(({ id }) => id)
    expect(ids.toSorted()).toEqual(alerts.map(({ id }) => id).toSorted())
    expect((await untilActive(world, tenant.id)).state).toBe('active')
  })
})
