import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tenantSpec } from '../../test/tenant.ts'
import { monotonicMs } from '../monotonic.ts'
import { createHelmDriver } from './driver.ts'
import { HelmError } from './error.ts'
import { digestOf, workloadsOf } from './release.ts'

const GUARD = fileURLToPath(new URL('guard.ts', import.meta.url))

/** How helm is run, not what it does: a script stands in for it here. Real helm runs in the tests with a cluster. */
describe('the door to helm', () => {
  let directory: string
  const driver = (timeoutMs = 10_000, command = join(directory, 'helm'), heldUntil = () => Infinity) => {
    const env = { PATH: process.env['PATH'] ?? '' }
    const helm = { command, chart: directory, env, timeoutMs, guard: GUARD }
    return createHelmDriver({ kubeconfigPath: '/a/kubeconfig', helm }, heldUntil)
  }
  const script = async (body: string): Promise<void> => {
    const path = join(directory, 'helm')
    await writeFile(path, `#!/bin/sh\n${body}\n`)
    await chmod(path, 0o755)
  }
  const call = (signal = new AbortController().signal) => ({
    namespace: 'tenant-acme',
    chart: { ref: '/a/chart', version: '1' },
    values: { a: 1 },
    signal,
  })
  const failing = async (run: Promise<void>): Promise<HelmError> => {
    const error: unknown = await run.then(
      () => null,
      (reason: unknown) => reason,
    )
    if (error instanceof HelmError) return error
    throw new Error(`no HelmError: ${String(error)}`)
  }
  /** A killed orphan may stay as a zombie until init collects it. */
  const isAlive = (pid: number): boolean => {
    const found = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
    return found !== '' && !found.startsWith('Z')
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'service-helm-test-'))
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  it('passes values by standard input, names the kubeconfig, and runs no hooks', async () => {
    await script(`echo "$@" > ${directory}/args; cat > ${directory}/input; env > ${directory}/env`)
    await driver().upgrade(call())
    const args = await readFile(join(directory, 'args'), 'utf8')
    expect(args).toContain('upgrade service-tenant /a/chart --install')
    expect(args).toContain('--no-hooks')
    expect(args).toContain('--kubeconfig /a/kubeconfig')
    expect(args).not.toContain('--wait')
    expect(await readFile(join(directory, 'input'), 'utf8')).toBe('{"a":1}')
    const env = await readFile(join(directory, 'env'), 'utf8')
    expect(env).not.toContain('KUBECONFIG')
    expect(env).toContain('HELM_CONFIG_HOME')
  })

  it('tells failures apart and keeps what was said', async () => {
    const cases = [
      ['echo "Error: no such image" >&2; exit 1', 'failed'],
      ['echo "Error: Kubernetes cluster unreachable: connection refused" >&2; exit 1', 'unreachable'],
      ['echo "Error: another operation (install/upgrade/rollback) is in progress" >&2; exit 1', 'busy'],
    ] as const
    for (const [body, kind] of cases) {
      await script(body)
      expect(await failing(driver().upgrade(call()))).toMatchObject({ kind })
    }
    const error = await failing(driver(1_000, '/nowhere/helm').upgrade(call()))
    expect(error).toMatchObject({ kind: 'not-started' })
    expect(error.message).toContain('/nowhere/helm')
  })

  it('ends what exceeds its deadline, and what is not wanted any more', async () => {
    await script(`echo $$ > ${directory}/pid; sleep 60`)
    expect(await failing(driver(1_000).upgrade(call()))).toMatchObject({ kind: 'deadline' })
    const abort = new AbortController()
    setTimeout(() => abort.abort(), 1_000)
    expect(await failing(driver().upgrade(call(abort.signal)))).toMatchObject({ kind: 'aborted' })
    await sleep(100)
    expect(isAlive(Number(await readFile(join(directory, 'pid'), 'utf8')))).toBe(false)
    expect(await failing(driver().upgrade(call(AbortSignal.abort())))).toMatchObject({ kind: 'aborted' })
  })

  it.each([
    ['is killed', 'SIGKILL'],
    ['is stopped and renews no lease', 'SIGSTOP'],
  ] as const)('does not outlive a parent that %s', async (_, signal) => {
    await script(`echo $$ > ${directory}/pid; sleep 60 & echo $! > ${directory}/child; wait`)
    const parent = join(directory, 'parent.ts')
    const module = (name: string): string => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)))
    await writeFile(
      parent,
      `import { createHelmDriver } from ${module('driver.ts')}
       import { monotonicMs } from ${module('../monotonic.ts')}
       const helm = { command: '${directory}/helm', chart: '', env: { PATH: '/bin:/usr/bin' }, timeoutMs: 60000, guard: '${GUARD}' }
       const signal = new AbortController().signal
       await createHelmDriver({ kubeconfigPath: '/k', helm }, () => monotonicMs() + 2000).uninstall({ namespace: 'a', hooks: true, signal })`,
    )
    const child = spawn(process.execPath, [parent], { stdio: 'inherit' })
    const pids = async (): Promise<number[]> =>
      Promise.all(['pid', 'child'].map(async (name) => Number(await readFile(join(directory, name), 'utf8'))))
    await vi.waitUntil(() => existsSync(join(directory, 'child')), { timeout: 20_000 })
    // It lives as long as it is told that the lease is held.
    await sleep(2_500)
    const running = await pids()
    expect(running.map(isAlive)).toEqual([true, true])
    child.kill(signal)
    const at = performance.now()
    await vi.waitUntil(() => !running.some(isAlive), { timeout: 10_000, interval: 20 })
    console.info(`${signal} of the parent: helm is gone after ${Math.round(performance.now() - at)} ms`)
    child.kill('SIGKILL')
  })

  it('is killed when the lease is not renewed, and not started without it', async () => {
    await script(`echo $$ > ${directory}/pid; sleep 60`)
    const until = monotonicMs() + 1_500
    const killed = await failing(driver(undefined, undefined, () => until).upgrade(call()))
    expect(killed).toMatchObject({ kind: 'aborted', message: 'helm was killed' })
    expect(isAlive(Number(await readFile(join(directory, 'pid'), 'utf8')))).toBe(false)
    await rm(join(directory, 'pid'))
    expect(await failing(driver(undefined, undefined, () => until).upgrade(call()))).toMatchObject({
      kind: 'aborted',
    })
    // Not even when it ran out on the way to the guard.
    let asked = 0
    const justLost = (): number => (asked++ === 0 ? Infinity : until)
    expect(await failing(driver(undefined, undefined, justLost).upgrade(call()))).toMatchObject({
      kind: 'aborted',
    })
    expect(existsSync(join(directory, 'pid'))).toBe(false)
  })

  it('takes the version of a chart that lies beside it', async () => {
    await writeFile(join(directory, 'Chart.yaml'), 'name: x\nversion: 1.2.3\n')
    expect(await driver().chartOf(tenantSpec('a'))).toEqual({ ref: directory, version: '1.2.3' })
    const chart = { ref: 'oci://registry.example/charts/x', version: '2.0.0' }
    expect(await driver().chartOf(tenantSpec('a', { chart }))).toEqual(chart)
  })
})

describe('a release', () => {
  it('has the same digest for the same values', () => {
    expect(digestOf({ a: 1, b: { c: [1, { d: 2, e: 3 }] } })).toBe(
      digestOf({ b: { c: [1, { e: 3, d: 2 }] }, a: 1 }),
    )
    expect(digestOf({ a: [1, 2] })).not.toBe(digestOf({ a: [2, 1] }))
  })
  it('tells what should run', () => {
    const manifest = `---
# Source: a
apiVersion: apps/v1
kind: Deployment
metadata: {name: adapter}
---
kind: Service
metadata: {name: s}
---
---
kind: StatefulSet
metadata:
  name: indexer
`
    expect(workloadsOf(manifest)).toEqual([
      { kind: 'Deployment', name: 'adapter' },
      { kind: 'StatefulSet', name: 'indexer' },
    ])
  })
})
