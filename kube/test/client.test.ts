import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKubeClient, isKubeError, LEASES, NAMESPACES, SECRETS } from '../src/index.ts'
import type { KubeError, KubeObject } from '../src/index.ts'
import { CONFIG_MAPS, connectToCluster } from './cluster.ts'
import { countingProxy, faultProxy, kubeconfigFor, upstreamOf } from './proxy.ts'

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }
type Connected = Awaited<ReturnType<typeof connectToCluster>>

describe('the client of a real API server', () => {
  let cluster: Connected
  const inNamespace = (name: string) => ({ name, namespace: cluster.namespace })
  const map = (name: string, data: Record<string, string>): ConfigMap => ({
    metadata: inNamespace(name),
    data,
  })
  const refusal = async (call: Promise<unknown>): Promise<KubeError> => {
    const error: unknown = await call.then(
      () => null,
      (reason: unknown) => reason,
    )
    if (!isKubeError(error)) throw new Error(`not a KubeError: ${String(error)}`)
    return error
  }

  beforeAll(async () => {
    cluster = await connectToCluster()
  })
  afterAll(() => cluster.end())

  it('says that the server is ready', async () => {
    await cluster.client.ready()
  })

  it('creates, reads, replaces, patches and deletes', async () => {
    const { client } = cluster
    const created = await client.create<ConfigMap>(CONFIG_MAPS, map('life', { a: '1' }))
    expect(created.metadata.uid).toBeDefined()
    const replaced = await client.replace<ConfigMap>(CONFIG_MAPS, { ...created, data: { a: '2' } })
    expect(replaced.data).toEqual({ a: '2' })
    const patched = await client.patch<ConfigMap>(CONFIG_MAPS, inNamespace('life'), { data: { b: '3' } })
    expect(patched.data).toEqual({ a: '2', b: '3' })
    expect(await client.get(CONFIG_MAPS, inNamespace('life'))).toMatchObject({ data: { a: '2', b: '3' } })
    expect(await client.delete(CONFIG_MAPS, inNamespace('life'))).toBe(true)
    expect(await client.delete(CONFIG_MAPS, inNamespace('life'))).toBe(false)
    expect(await client.get(CONFIG_MAPS, inNamespace('life'))).toBeNull()
  })

  it('tells refusals apart by status and reason', async () => {
    const { client } = cluster
    const first = await client.create<ConfigMap>(CONFIG_MAPS, map('refused', {}))
    expect(await refusal(client.create(CONFIG_MAPS, map('refused', {})))).toMatchObject({
      status: 409,
      reason: 'AlreadyExists',
    })
    await client.replace<ConfigMap>(CONFIG_MAPS, { ...first, data: { a: '1' } })
    expect(await refusal(client.replace(CONFIG_MAPS, first))).toMatchObject({
      status: 409,
      reason: 'Conflict',
    })
    expect(
      await refusal(client.delete(CONFIG_MAPS, inNamespace('refused'), { uid: 'another' })),
    ).toMatchObject({ status: 409, reason: 'Conflict' })
    expect(await refusal(client.create(CONFIG_MAPS, map('Not A Name', {})))).toMatchObject({
      status: 422,
      reason: 'Invalid',
    })
  })

  it('does not take a kind that is not served for an absent object', async () => {
    const unknown = { apiVersion: 'nowhere.test/v1', kind: 'Nothing', plural: 'nothings', namespaced: false }
    const error = await refusal(cluster.client.get(unknown, { name: 'a' }))
    expect(error).toMatchObject({ status: 404, reason: 'KindNotFound' })
  })

  it('applies on the server, and another manager owns its own fields', async () => {
    const { client } = cluster
    await client.apply<ConfigMap>(CONFIG_MAPS, map('applied', { mine: '1' }), { fieldManager: 'one' })
    await client.apply<ConfigMap>(CONFIG_MAPS, map('applied', { theirs: '2' }), { fieldManager: 'two' })
    const both = await client.get<ConfigMap>(CONFIG_MAPS, inNamespace('applied'))
    expect(both?.data).toEqual({ mine: '1', theirs: '2' })
    const conflicting = client.apply<ConfigMap>(CONFIG_MAPS, map('applied', { mine: 'x' }), {
      fieldManager: 'two',
    })
    expect(await refusal(conflicting)).toMatchObject({ status: 409, reason: 'Conflict' })
    const again = await client.apply<ConfigMap>(CONFIG_MAPS, map('applied', { mine: '1' }), {
      fieldManager: 'one',
    })
    expect(again.metadata.resourceVersion).toBe(both?.metadata.resourceVersion)
  })

  it('refuses to apply on top of a version that is not the present one', async () => {
    const { client } = cluster
    const first = await client.create<ConfigMap>(CONFIG_MAPS, map('versioned', { a: '1' }))
    await client.replace<ConfigMap>(CONFIG_MAPS, { ...first, data: { a: '2' } })
    const stale = { ...map('versioned', { b: '3' }), metadata: first.metadata }
    const error = await refusal(client.apply(CONFIG_MAPS, stale, { fieldManager: 'one', force: true }))
    expect(error).toMatchObject({ status: 409, reason: 'Conflict' })
  })

  it('lists all pages and gives items their kind', async () => {
    const { client, namespace } = cluster
    const names = Array.from({ length: 1_050 }, (_, index) => `page-${String(index).padStart(4, '0')}`)
    for (let at = 0; at < names.length; at += 20) {
      await Promise.all(names.slice(at, at + 20).map((name) => client.create(SECRETS, map(name, {}))))
    }
    const { items, resourceVersion } = await client.list(SECRETS, { namespace })
    expect(items.map((item) => item.metadata.name).toSorted()).toEqual(names)
    expect(items[0]).toMatchObject({ apiVersion: 'v1', kind: 'Secret' })
    expect(Number(resourceVersion)).toBeGreaterThan(0)
  })

  it('needs at most 32 connections for 2000 calls with 20 in flight', async () => {
    const proxy = await countingProxy(await upstreamOf(cluster.kubeconfigPath))
    const path = join(cluster.directory, 'counted')
    await kubeconfigFor(cluster.kubeconfigPath, proxy.url, path)
    const client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-test' })
    const startedAt = performance.now()
    let left = 2_000
    const worker = async (): Promise<void> => {
      while (left-- > 0) await client.get(NAMESPACES, { name: 'default' })
    }
    await Promise.all(Array.from({ length: 20 }, worker))
    const perSecond = Math.round(2_000_000 / (performance.now() - startedAt))
    console.info(`2000 calls, 20 in flight: ${proxy.connections()} connections, ${perSecond} calls/s`)
    expect(proxy.connections()).toBeLessThanOrEqual(32)
    await client.close()
    proxy.close()
  })

  it('holds a burst within the pool', async () => {
    const proxy = await countingProxy(await upstreamOf(cluster.kubeconfigPath))
    const path = join(cluster.directory, 'burst')
    await kubeconfigFor(cluster.kubeconfigPath, proxy.url, path)
    const client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-test' })
    await Promise.all(Array.from({ length: 200 }, () => client.get(NAMESPACES, { name: 'default' })))
    expect(proxy.connections()).toBeLessThanOrEqual(32)
    await client.close()
    proxy.close()
  })

  it('reads a token file again when the server answers 401', async () => {
    const { kubeconfigPath, directory } = cluster
    const proxy = await faultProxy(await upstreamOf(kubeconfigPath))
    const plain = join(directory, 'plain')
    const withFile = join(directory, 'with-file')
    const tokenFile = join(directory, 'token')
    await kubeconfigFor(kubeconfigPath, proxy.url, plain)
    const config = new KubeConfig()
    config.loadFromFile(plain)
    const token = config.getCurrentUser()?.token ?? ''
    expect(token).not.toBe('')
    const name = config.getCurrentUser()?.name ?? ''
    config.users = [{ name, authProvider: { name: 'tokenFile', config: { tokenFile } } }]
    await writeFile(withFile, config.exportConfig())
    await writeFile(tokenFile, 'an-old-token\n')
    const client = createKubeClient({ kubeconfigPath: withFile, userAgent: 'kube-test' })
    const before = await refusal(client.get(NAMESPACES, { name: 'default' }))
    expect(before).toMatchObject({ status: 401, reason: 'Unauthorized' })
    await writeFile(tokenFile, `${token}\n`)
    await sleep(1_100)
    expect(await client.get(NAMESPACES, { name: 'default' })).not.toBeNull()
    await client.close()
    proxy.close()
  })
})

describe('the client of a server that misbehaves', () => {
  const fake = async (answer: Parameters<typeof createServer>[1]) => {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const directory = await mkdtemp(join(tmpdir(), 'service-kube-'))
    const path = join(directory, 'kubeconfig')
    const yaml = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      clusters: [{ name: 'k', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: {} }],
    }
    await writeFile(path, JSON.stringify(yaml))
    const client = createKubeClient({ kubeconfigPath: path, userAgent: 'kube-test' })
    return {
      client,
      end: async () => {
        await client.close()
        server.closeAllConnections()
        server.close()
        await rm(directory, { recursive: true })
      },
    }
  }

  it('carries Retry-After', async () => {
    const { client, end } = await fake((_request, response) => {
      response.writeHead(429, { 'retry-after': '7' }).end('slow down')
    })
    const error: unknown = await client.get(LEASES, { name: 'a', namespace: 'b' }).catch((e: unknown) => e)
    expect(error).toMatchObject({ status: 429, reason: 'TooManyRequests', retryAfterMs: 7_000 })
    await end()
  })

  it('gives up at the deadline, also in the middle of a body', async () => {
    const { client, end } = await fake((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":')
    })
    const startedAt = performance.now()
    const call = client.get(LEASES, { name: 'a', namespace: 'b' }, { timeoutMs: 200 })
    await expect(call).rejects.toMatchObject({ status: 0, reason: 'Timeout' })
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await end()
  })

  it('stops at the abort, and fails at once after close', async () => {
    const { client, end } = await fake(() => undefined)
    const abort = new AbortController()
    setTimeout(() => abort.abort(), 50)
    const call = client.ready({ signal: abort.signal })
    await expect(call).rejects.toMatchObject({ status: 0, reason: 'Aborted' })
    await client.close()
    await expect(client.ready()).rejects.toMatchObject({ status: 0, reason: 'Aborted' })
    await end()
  })

  it('refuses a body that is not an object', async () => {
    const { client, end } = await fake((_request, response) => void response.end('"hello"'))
    const call = client.get(LEASES, { name: 'a', namespace: 'b' })
    await expect(call).rejects.toMatchObject({ status: 0, reason: 'BadAnswer' })
    await end()
  })

  it('names what is missing, and finds it later', async () => {
    const client = createKubeClient({ kubeconfigPath: '/nowhere/kubeconfig', userAgent: 'kube-test' })
    const error: unknown = await client.ready().catch((e: unknown) => e)
    expect(error).toMatchObject({ status: 0, reason: 'BadConfiguration' })
    expect(String(error)).toContain('/nowhere/kubeconfig')
    await client.close()
  })

  it('reports a server that is not there', async () => {
    const { client, end } = await fake((request) => void request.socket.destroy())
    await expect(client.ready()).rejects.toMatchObject({ status: 0, reason: 'ConnectionFailed' })
    await end()
  })
})
