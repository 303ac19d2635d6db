import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { ApiError, connectApi, readKubeconfig } from '../src/cluster/client.ts'
import type { ApiClient } from '../src/cluster/client.ts'
import { testCluster } from '../src/cluster/testing.ts'
import type { TestCluster } from '../src/cluster/testing.ts'
import { startWireProxy } from '../src/wire-proxy/index.ts'
import type { FaultRule, WireProxy } from '../src/wire-proxy/index.ts'

const NAMESPACES = '/api/v1/namespaces'
const DEFAULT = `${NAMESPACES}/default`
let cluster: TestCluster
let directory: string
let proxy: WireProxy
let api: ApiClient

beforeAll(async () => {
  cluster = await testCluster()
  directory = await mkdtemp(join(tmpdir(), 'service-wire-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
  await cluster.stop()
})
beforeEach(async () => {
  proxy = await startWireProxy(cluster)
  await proxy.writeKubeconfig(join(directory, 'kubeconfig'))
  api = connectApi(await readKubeconfig(join(directory, 'kubeconfig')))
})
afterEach(async () => {
  api.close()
  await proxy.close()
})

/** How a call ends: by an answer, a refusal or no answer. */
const outcome = async (path = DEFAULT): Promise<string> => {
  try {
    await api.call('GET', path, { timeoutMs: 700 })
    return 'ok'
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.reason}`
    return 'no answer'
  }
}
const during = async (rule: FaultRule, path?: string): Promise<string> => {
  const stop = proxy.fault(rule)
  const result = await outcome(path)
  stop()
  return result
}

it('passes everything through verified TLS and counts it', async () => {
  expect(await outcome()).toBe('ok')
  expect(await outcome(NAMESPACES)).toBe('ok')
  expect(await outcome('/readyz/nowhere')).toMatch(/^404/)
  expect(proxy.counts()).toMatchObject({ list: 1, watch: 0, other: 2, accepted: 1, open: 1 })
})

it('answers in the place of the server, for the requests of the rule', async () => {
  const fault = { type: 'status', code: 500, reason: 'InternalError' } as const
  expect(await during({ fault })).toBe('500 InternalError')
  expect(await during({ kinds: ['list'], fault })).toBe('ok')
  expect(await during({ kinds: ['list'], fault }, NAMESPACES)).toBe('500 InternalError')
  expect(await during({ resource: 'pods', fault }, NAMESPACES)).toBe('ok')
  expect(await during({ fault: { type: 'reset' } })).toBe('no answer')
  expect(await during({ fault: { type: 'delay', ms: 100 } })).toBe('ok')
  const { token = '' } = await readKubeconfig(cluster.kubeconfigPath)
  expect(await during({ fault: { type: 'refuse-token', token } })).toBe('401 Unauthorized')
  expect(await outcome()).toBe('ok')
})

it('keeps a blackholed connection silent after the rule has ended, and lets new ones through', async () => {
  expect(await outcome()).toBe('ok')
  proxy.setConnections('blackhole')
  expect(await outcome()).toBe('no answer')
  const held = connect(Number(new URL(proxy.url).port), '127.0.0.1')
  await once(held, 'connect')
  proxy.setConnections('pass')
  expect(await outcome()).toBe('ok')
  expect(held.destroyed).toBe(false)
  held.destroy()
})

it('accepts and closes', async () => {
  proxy.setConnections('close')
  expect(await outcome()).toBe('no answer')
  proxy.setConnections('pass')
  expect(await outcome()).toBe('ok')
})

it('breaks the lines of a watch', async () => {
  const stop = new AbortController()
  const open = () => api.stream(`${NAMESPACES}?watch=true`, 10_000, stop.signal)
  const read = async (rule: FaultRule, after: 'end' | 'data' = 'end'): Promise<string> => {
    const off = proxy.fault(rule)
    const response = await open()
    let text = ''
    response.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await once(response, after)
    off()
    response.destroy()
    return text
  }
  const parts = (text: string) => text.trimEnd().split('\n')
  const isJson = (text: string | undefined): boolean => {
    try {
      return text !== undefined && JSON.parse(text) !== undefined
    } catch {
      return false
    }
  }
  const first = parts(await read({ fault: { type: 'close', afterLines: 1 } }))
  expect(first).toHaveLength(1)
  expect(isJson(first[0])).toBe(true)
  expect(await read({ fault: { type: 'close', afterLines: 0 } })).toBe('')
  const truncated = await read({ fault: { type: 'truncate' } })
  expect(truncated.endsWith('\n')).toBe(false)
  expect(isJson(truncated)).toBe(false)
  expect(isJson(parts(await read({ fault: { type: 'garbage' } }, 'data'))[0])).toBe(false)
  expect(await read({ fault: { type: 'error-event', code: 410, reason: 'Expired' } })).toContain('"code":410')
  expect(proxy.counts().watch).toBe(5)
})

it('strikes the watches that are open already', async () => {
  const ends = async (rule: FaultRule): Promise<string> => {
    const response = await api.stream(`${NAMESPACES}?watch=true`, 10_000, AbortSignal.timeout(20_000))
    await once(response, 'data')
    response.resume()
    const ended = Promise.race([
      once(response, 'end').then(() => 'end'),
      once(response, 'close').then(() => 'cut'),
    ]).catch(() => 'cut')
    expect(proxy.openWatches('namespaces')).toBe(1)
    const off = proxy.fault(rule)
    const result = await ended
    off()
    return result
  }
  expect(await ends({ fault: { type: 'reset' } })).toBe('cut')
  expect(await ends({ kinds: ['watch'], fault: { type: 'close', afterLines: 0 } })).toBe('end')
  expect(await ends({ fault: { type: 'error-event', code: 410, reason: 'Expired' } })).toBe('end')
  expect(proxy.openWatches()).toBe(0)
})
