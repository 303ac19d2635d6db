import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { LEADER_LEASE_NAME, namespaceOf } from '@service/domain'
import { createKubeClient, isKubeError, LEASES, NAMESPACES, SECRETS } from '@service/kube'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { fencedClient } from '../src/fence.ts'
import { parseOperatorConfig, startOperator } from '../src/index.ts'
import type { Lease, Term } from '../src/lease.ts'
import { TenantOperator } from '../src/operator.ts'
import {
  baseEnv,
  eventually,
  INSTALL,
  readTenant,
  renewHeartbeat,
  setPodsReady,
  startTestBed,
  writeMaterial,
} from './cluster.ts'
import type { TestBed } from './cluster.ts'
import { ONBOARDED, story, tenantSpec } from './tenant.ts'

const QUICK = { SERVICE_OPERATOR_LEASE_SECONDS: '3' }
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

describe('the operator as one of several, and across its own deaths', { timeout: 180_000 }, () => {
  let bed: TestBed
  const children: ChildProcess[] = []
  const spawnOperator = (): ChildProcess => {
    const env = { ...baseEnv(bed.kubeconfigPath, bed.tools.helm), ...QUICK }
    const child = spawn(process.execPath, [MAIN], { env, stdio: 'ignore' })
    children.push(child)
    return child
  }
  const holder = async (): Promise<string | undefined> =>
    (await bed.kube.get<Lease>(LEASES, { name: LEADER_LEASE_NAME, namespace: INSTALL }))?.spec?.holderIdentity

  beforeAll(async () => {
    bed = await startTestBed()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
  afterAll(() => bed.end())

  it('has one leader, which hands over at once when it stops', async () => {
    const one = await bed.startOperator()
    await eventually('one leads', () => one.isLeader())
    const other = await bed.startOperator()
    await sleep(3_000)
    expect([one.isLeader(), other.isLeader()]).toEqual([true, false])
    expect([one.status(), other.status()]).toEqual(['ok', 'ok'])
    const startedAt = performance.now()
    await one.stop()
    await eventually('the other leads', () => other.isLeader(), 5_000)
    const ms = Math.round(performance.now() - startedAt)
    console.info(`hand-over at a stop: ${ms} ms`)
    expect(ms).toBeLessThan(3_000)
    await other.stop()
    expect(await holder()).toBe('')
  })

  it('is followed within its lease when it is killed', async () => {
    const child = spawnOperator()
    await eventually('the process leads', async () => ((await holder()) ?? '') !== '')
    const former = await holder()
    const follower = await bed.startOperator(QUICK)
    await sleep(1_000)
    child.kill('SIGKILL')
    const startedAt = performance.now()
    await eventually('the follower leads', () => follower.isLeader(), 6_000)
    console.info(`fail-over with a lease of 3 s: ${Math.round(performance.now() - startedAt)} ms`)
    expect(await holder()).not.toBe(former)
    await follower.stop()
  })

  it('leads again in the same process after somebody has taken its lease', async () => {
    const operator = await bed.startOperator(QUICK)
    await eventually('it leads', () => operator.isLeader())
    const key = { name: LEADER_LEASE_NAME, namespace: INSTALL }
    const spec = { holderIdentity: 'a-thief', leaseDurationSeconds: 2 }
    await bed.kube.patch(LEASES, key, { spec })
    await eventually('it has noticed', () => !operator.isLeader(), 5_000)
    await eventually('it leads again', () => operator.isLeader(), 10_000)
    const tenant = tenantSpec('second-term')
    await writeMaterial(bed.kube, tenant)
    await bed.kube.create(TENANTS, tenant)
    await eventually('it works in its second term', async () => {
      return (await readTenant(bed.kube, 'second-term')).status?.phase === 'provisioning'
    })
    await operator.stop()
  })

  it('sends no write when its term is over', async () => {
    let valid = true
    const term: Term = {
      valid: () => valid,
      heldUntil: () => (valid ? Infinity : 0),
      signal: new AbortController().signal,
      draining: new AbortController().signal,
    }
    const fenced = fencedClient(bed.kube, term)
    await fenced.create(NAMESPACES, { metadata: { name: 'fenced' } })
    valid = false
    const writes = [
      fenced.create(NAMESPACES, { metadata: { name: 'too-late' } }),
      fenced.replace(NAMESPACES, { metadata: { name: 'fenced' } }),
      fenced.apply(NAMESPACES, { metadata: { name: 'too-late' } }, { fieldManager: 'x' }),
      fenced.patch(NAMESPACES, { name: 'fenced' }, { metadata: { labels: { a: 'b' } } }),
      fenced.delete(NAMESPACES, { name: 'fenced' }),
    ]
    for (const result of await Promise.allSettled(writes)) {
      expect(result.status === 'rejected' && isKubeError(result.reason, 'LeaseLost')).toBe(true)
    }
    expect(await fenced.get(NAMESPACES, { name: 'fenced' })).toMatchObject({ metadata: { name: 'fenced' } })
    expect(await fenced.get(NAMESPACES, { name: 'too-late' })).toBeNull()
  })

  it('returns at once, and keeps trying, when the cluster is away', async () => {
    const startedAt = performance.now()
    const env = { ...baseEnv('/nowhere/kubeconfig', bed.tools.helm), ...QUICK }
    const kube = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'operator-test' })
    const operator = await startOperator({
      kube,
      config: parseOperatorConfig(env),
      log: pino({ level: 'silent' }),
      clock: () => new Date(),
      registry: new Registry(),
    })
    expect(performance.now() - startedAt).toBeLessThan(500)
    expect(operator.status()).toBe('failing')
    await sleep(500)
    expect(operator.isLeader()).toBe(false)
    await operator.stop()
    await kube.close()
  })

  it('never reaches what the shell’s base class does by itself', async () => {
    const base = Object.getPrototypeOf(TenantOperator.prototype) as Record<string, () => unknown>
    const own = [
      'getCustomResourceApiUri',
      'registerCustomResourceDefinition',
      'watchResource',
      'handleResourceFinalizer',
      'setResourceFinalizers',
      'setResourceStatus',
      'patchResourceStatus',
      'applyAxiosKubeConfigAuth',
      'applyGaxiosKubeConfigAuth',
      'resourceStatusRequest',
      'stop',
    ]
    const spies = own.map((name) => vi.spyOn(base, name))
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never)
    const operator = await bed.startOperator(QUICK)
    const tenant = tenantSpec('contract')
    await writeMaterial(bed.kube, tenant)
    await bed.kube.create(TENANTS, tenant)
    await eventually('provisioning', async () => {
      return (await readTenant(bed.kube, 'contract')).status?.phase === 'provisioning'
    })
    await bed.kube.delete(TENANTS, { name: 'contract' })
    await eventually('gone', async () => (await bed.kube.get(TENANTS, { name: 'contract' })) === null)
    await operator.stop()
    expect(spies.map((spy) => spy.mock.calls.length)).toEqual(own.map(() => 0))
    expect(exit).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })

  it('tells the same story whenever it is killed', async () => {
    const secretsOf = async (slug: string): Promise<string> => {
      const namespace = namespaceOf(slug)
      const { items } = await bed.kube.list(SECRETS, { namespace, labelSelector: 'service.dev/material' })
      return JSON.stringify(items.map((item) => [item.metadata.name, (item as { data?: unknown }).data]))
    }
    const killedAfter: string[] = []
    // Into the namespace, the secrets, helm, and what follows; each life ends without a warning.
    for (const [index, lifetimes] of [
      [700, 900, 1_100],
      [1_300, 1_600, 800],
      [1_000, 1_900, 1_200],
    ].entries()) {
      const slug = `killed-${index}`
      const tenant: Tenant = tenantSpec(slug)
      await writeMaterial(bed.kube, tenant)
      await bed.kube.create(TENANTS, tenant)
      for (const lifetime of lifetimes) {
        const before = await holder()
        const child = spawnOperator()
        // Life is counted from leadership, because before it nothing is done.
        await eventually('it leads', async () => (await holder()) !== before)
        await sleep(lifetime - 600)
        child.kill('SIGKILL')
        killedAfter.push(story(await readTenant(bed.kube, slug)).at(-1) ?? 'nothing')
      }
      const last = await bed.startOperator(QUICK)
      const phase = (wanted: string) =>
        eventually(
          `${slug} is ${wanted}`,
          async () => (await readTenant(bed.kube, slug)).status?.phase === wanted,
          40_000,
        )
      await phase('provisioning')
      const secrets = await secretsOf(slug)
      await setPodsReady(bed.kube, slug, true)
      await eventually('workloads', async () =>
        story(await readTenant(bed.kube, slug)).includes('step.done workloads'),
      )
      await renewHeartbeat(bed.kube, slug)
      await phase('active')
      expect(story(await readTenant(bed.kube, slug))).toEqual(ONBOARDED)
      expect(await secretsOf(slug)).toBe(secrets)
      await last.stop()
    }
    console.info(`killed after: ${killedAfter.join(', ')}`)
  })
})
