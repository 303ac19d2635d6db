import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { LEADER_LEASE_NAME, namespaceOf } from '@service/domain'
import { LEASES, SECRETS } from '@service/kube'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isAlive, recordingHelm } from '../../dev/src/testing/recording-helm.ts'
import { startWireProxy } from '../../dev/src/wire-proxy/index.ts'
import type { WireProxy } from '../../dev/src/wire-proxy/index.ts'
import type { Lease } from '../src/lease.ts'
import { baseEnv, eventually, INSTALL, readTenant, startTestBed, writeMaterial } from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { story, tenantSpec } from './tenant.ts'

const QUICK = { SERVICE_OPERATOR_LEASE_SECONDS: '3' }
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

describe('an operator that ends or stops without a warning', { timeout: 180_000 }, () => {
  let bed: TestBed
  let proxy: WireProxy
  let proxied: string
  const children: ChildProcess[] = []
  const spawnOperator = (env: Readonly<Record<string, string>> = {}): ChildProcess => {
    const all = { ...baseEnv(proxied, bed.tools.helm), ...QUICK, ...env }
    const child = spawn(process.execPath, [MAIN], { env: all, stdio: 'ignore' })
    children.push(child)
    return child
  }
  const holder = async (): Promise<string> =>
    (await bed.kube.get<Lease>(LEASES, { name: LEADER_LEASE_NAME, namespace: INSTALL }))?.spec
      ?.holderIdentity ?? ''
  const leads = async (former: string): Promise<void> =>
    eventually('another one leads', async () => !['', former].includes(await holder()))
  const create = async (slug: string): Promise<void> => {
    const tenant = tenantSpec(slug)
    await writeMaterial(bed.kube, tenant)
    await bed.kube.create(TENANTS, tenant)
  }
  const tenant = (slug: string): Promise<Tenant> => readTenant(bed.kube, slug)
  const recordOf = async (slug: string): Promise<string | undefined> => {
    const labelSelector = 'owner=helm'
    const { items } = await bed.kube.list(SECRETS, { namespace: namespaceOf(slug), labelSelector })
    return items[0]?.metadata.labels?.['status']
  }

  beforeAll(async () => {
    bed = await startTestBed()
    proxy = await startWireProxy(bed)
    proxied = join(bed.directory, 'proxied')
    await proxy.writeKubeconfig(proxied)
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await bed?.stopOperators()
  })
  afterAll(async () => {
    await proxy?.close()
    await bed?.end()
  })

  it('takes its helm with it, and its release is finished by the next', async () => {
    const pidFile = join(bed.directory, 'helm.pid')
    const helm = join(bed.directory, 'helm')
    const script = `#!/bin/sh\necho $$ > ${pidFile}.new\nmv ${pidFile}.new ${pidFile}\nexec ${bed.tools.helm} "$@"\n`
    await writeFile(helm, script, { mode: 0o755 })
    // Helm is held where it looks for the objects, and again where it makes them: by then its record stands.
    const release = proxy.fault({
      resource: 'deployments',
      kinds: ['other'],
      fault: { type: 'delay', ms: 3_000 },
    })
    const child = spawnOperator({ SERVICE_HELM: helm })
    await create('midway')
    await eventually('helm is in the middle', async () => (await recordOf('midway')) === 'pending-install')
    const pid = Number(await readFile(pidFile, 'utf8'))
    expect(isAlive(pid)).toBe(true)
    const killedAt = performance.now()
    child.kill('SIGKILL')
    await eventually('helm is gone', async () => !isAlive(pid), 3_000)
    console.info(`helm is gone ${Math.round(performance.now() - killedAt)} ms after its parent`)
    release()
    await sleep(500)
    expect(await recordOf('midway')).toBe('pending-install')
    await bed.startOperator(QUICK)
    await eventually('provisioning', async () => (await tenant('midway')).status?.phase === 'provisioning')
    expect(await recordOf('midway')).toBe('deployed')
    expect(story(await tenant('midway')).filter((line) => line.endsWith('release'))).toEqual([
      'step.started release',
      'step.done release',
    ])
  })

  it('that is stopped in the middle of helm loses it before another one leads', async () => {
    const runs = await recordingHelm(bed.tools.helm, bed.directory)
    const slow = { resource: 'deployments', kinds: ['other'], fault: { type: 'delay', ms: 6_000 } } as const
    const release = proxy.fault(slow)
    const before = await holder()
    const child = spawnOperator({ SERVICE_HELM: runs.command })
    await leads(before)
    await create('halted')
    await eventually('helm is in the middle', async () => (await recordOf('halted')) === 'pending-install')
    const [pid = 0] = await runs.pids()
    child.kill('SIGSTOP')
    const stoppedAt = performance.now()
    const follower = await bed.startOperator({ ...QUICK, SERVICE_HELM: runs.command })
    let goneAt = 0
    const gone = eventually('helm is gone', async () => !isAlive(pid)).then(() => {
      goneAt = performance.now()
    })
    await eventually('the follower leads', () => follower.isLeader())
    const tookOverAt = performance.now()
    expect(isAlive(pid)).toBe(false)
    await gone
    const ms = (at: number): number => Math.round(at - stoppedAt)
    console.info(`leader stopped: helm gone after ${ms(goneAt)} ms, next leader after ${ms(tookOverAt)} ms`)
    release()
    await eventually('provisioning', async () => (await tenant('halted')).status?.phase === 'provisioning')
    expect(await recordOf('halted')).toBe('deployed')
    expect((await runs.pids()).length).toBe(2)
    const sent = proxy.requests.length
    child.kill('SIGCONT')
    await eventually('the former leader is awake', () => proxy.requests.length > sent)
    await sleep(3_000)
    const writes = proxy.requests.slice(sent).filter(({ method }) => method !== 'GET')
    expect(writes.map(({ method, url }) => `${method} ${url}`)).toEqual([])
    expect((await runs.pids()).length).toBe(2)
    expect(story(await tenant('halted')).filter((line) => line.endsWith('release'))).toEqual([
      'step.started release',
      'step.done release',
    ])
  })

  it('is followed: after kill -9 when its lease has run out, after SIGTERM at once', async () => {
    const figures: string[] = []
    for (const [signal, lease] of [
      ['SIGKILL', '3'],
      ['SIGTERM', '3'],
    ] as const) {
      const env = { SERVICE_OPERATOR_LEASE_SECONDS: lease }
      const before = await holder()
      const child = spawnOperator(env)
      await leads(before)
      const former = await holder()
      const follower = await bed.startOperator(env)
      await sleep(1_000)
      const startedAt = performance.now()
      child.kill(signal)
      await eventually('the follower leads', () => follower.isLeader())
      const ms = Math.round(performance.now() - startedAt)
      figures.push(`${signal} with a lease of ${lease} s: ${ms} ms`)
      expect(await holder()).not.toBe(former)
      expect(ms).toBeLessThan(signal === 'SIGTERM' ? 5_000 : Number(lease) * 1_000 + 5_000)
      await follower.stop()
    }
    console.info(figures.join('; '))
  })

  it('that was stopped for longer than its lease sends no more than what was on its way', async () => {
    const child = spawnOperator()
    await leads('')
    const slugs = Array.from({ length: 8 }, (_, index) => `stopped-${index}`)
    for (const slug of slugs) await create(slug)
    // In the middle of everything.
    await eventually('work is under way', async () => (await tenant('stopped-3')).status?.phase !== undefined)
    child.kill('SIGSTOP')
    const stopped = await holder()
    const follower = await bed.startOperator(QUICK)
    await eventually('another one leads', () => follower.isLeader())
    await eventually('it has finished the work', async () => {
      const all = await Promise.all(slugs.map(tenant))
      return all.every(({ status }) => status?.phase === 'provisioning')
    })
    await sleep(3_000)
    const before = proxy.requests.length
    child.kill('SIGCONT')
    await sleep(5_000)
    const writes = proxy.requests.slice(before).filter(({ method }) => method !== 'GET')
    console.info(`writes of the stopped one after it went on: ${writes.length}`)
    expect(writes.map(({ method, url }) => `${method} ${url}`).slice(1)).toEqual([])
    expect(proxy.requests.length).toBeGreaterThan(before)
    expect(await holder()).not.toBe(stopped)
    for (const slug of slugs) {
      const told = story(await tenant(slug))
      expect(new Set(told).size).toBe(told.length)
      expect(told).not.toContain('step.failed release')
    }
  })
})
