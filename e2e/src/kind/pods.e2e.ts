import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  clusterTools,
  ensureTools,
  generateAlerts,
  GUIDE_TENANT,
  loadAlerts,
  NAMESPACE,
  networkManifest,
  signIn,
} from '@service/dev'
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

  it.each([
    [NAMESPACE, ''],
    // The one exception of the stack (docs/adr/0007).
    [TENANT, 'wazuh-manager-0'],
  ])('of %s would be admitted under Pod Security "restricted", all but %j', async (namespace, exception) => {
    const { kubectl } = await ensureTools()
    const label = 'pod-security.kubernetes.io/enforce=restricted'
    const args = ['label', 'namespace', namespace, label, '--overwrite', '--dry-run=server']
    const { status, stderr } = spawnSync(kubectl, ['--kubeconfig', world.connection.kubeconfig, ...args], {
      encoding: 'utf8',
    })
    // The API server names each pod that exists and would not be admitted in a warning.
    const named = [...stderr.matchAll(/^Warning: (\S+): /gm)].map(([, name]) => name)
    expect({ status, named }, stderr).toEqual({ status: 0, named: exception === '' ? [] : [exception] })
  })

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

  it('are the whole stack within its limits, and the adapter reads the indexer beside it', async () => {
    const pods = await podsOf(TENANT)
    expect(
      pods.map(({ metadata }) => metadata.labels['app.kubernetes.io/component'] ?? '').toSorted(),
    ).toEqual(['adapter', 'indexer', 'manager', 'runs-worker'])
    for (const { status } of pods)
      expect(status.containerStatuses.map(({ ready, restartCount }) => [ready, restartCount])).toEqual([
        [true, 0],
      ])
    const [adapter] = await adapterPods()
    const env = ['-o', 'jsonpath={.spec.containers[0].env[?(@.name=="INDEXER_URL")].value}']
    const url = await world.kubectl('get', 'pod', adapter?.metadata.name ?? '', '-n', TENANT, ...env)
    expect(url).toBe(`https://wazuh-indexer.${TENANT}.svc:9200`)
  })

  it('are reached, and reach, as the network policies say', async () => {
    const [adapter] = await adapterPods()
    const connects = async (targets: readonly string[]): Promise<string[]> => {
      const script = `
        const { connect } = require('node:net')
        const open = (target) => new Promise((tell) => {
          const [host, port] = target.split(' ')
          const socket = connect({ host, port: Number(port), timeout: 4_000 })
          for (const [event, answer] of [['connect', true], ['timeout', false], ['error', false]])
            socket.once(event, () => { tell(answer); socket.destroy() })
        })
        const targets = ${JSON.stringify(targets)}
        Promise.all(targets.map(open)).then((open) => process.stdout.write(JSON.stringify(targets.filter((_, i) => open[i]))))`
      const exec = ['exec', adapter?.metadata.name ?? '', '-n', TENANT, '--', 'node', '--eval', script]
      return JSON.parse(await world.kubectl(...exec)) as string[]
    }
    const allowed = [`${NAMESPACE}-api.${NAMESPACE}.svc 8080`, 'wazuh-indexer 9200']
    expect(await connects(allowed)).toEqual(allowed)
    // The network of a plain kind cluster lets everything through.
    if (networkManifest() === undefined) return
    const forbidden = [
      `wazuh-indexer.tenant-${GUIDE_TENANT}.svc 9200`,
      `wazuh-manager.tenant-${GUIDE_TENANT}.svc 1514`,
      'wazuh-manager 55000',
      'wazuh-manager 1514',
      `${NAMESPACE}-postgres.${NAMESPACE}.svc 5432`,
      'kubernetes.default.svc 443',
    ]
    expect(await connects(forbidden)).toEqual([])
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
