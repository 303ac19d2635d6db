import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createKubeClient, startReflector } from '../src/index.ts'
import type { KubeClient, KubeObject, Reflector, ReflectorTuning, WatchEvent } from '../src/index.ts'
import { CONFIG_MAPS, connectToCluster, eventually } from './cluster.ts'
import { faultProxy, kubeconfigFor, upstreamOf } from './proxy.ts'
import type { Fault } from './proxy.ts'

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }
type Connected = Awaited<ReturnType<typeof connectToCluster>>
type Proxy = Awaited<ReturnType<typeof faultProxy>>

/** Faults end sooner than in production; the proportions stay. */
const QUICK: Partial<ReflectorTuning> = { backoffFirstMs: 100, backoffMaxMs: 500, silenceMs: 1_500 }
const LABEL = 'reflected'

describe('the reflector', () => {
  let cluster: Connected
  let proxy: Proxy
  let client: KubeClient
  let events: WatchEvent<ConfigMap>[]
  let errors: unknown[]
  const running: Reflector<ConfigMap>[] = []
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)

  const start = (tuning = QUICK): Reflector<ConfigMap> => {
    const reflector = startReflector<ConfigMap>(
      {
        client,
        type: CONFIG_MAPS,
        namespace: cluster.namespace,
        labelSelector: LABEL,
        onEvent: (event) => events.push(event),
        onError: (error) => errors.push(error),
      },
      tuning,
    )
    running.push(reflector)
    return reflector
  }
  const put = (name: string, value: string): Promise<ConfigMap> =>
    cluster.client.apply<ConfigMap>(
      CONFIG_MAPS,
      { metadata: { name, namespace: cluster.namespace, labels: { [LABEL]: '1' } }, data: { value } },
      { fieldManager: 'test' },
    )
  const remove = (name: string): Promise<boolean> =>
    cluster.client.delete(CONFIG_MAPS, { name, namespace: cluster.namespace })
  const cached = (reflector: Reflector<ConfigMap>, name: string): string | undefined =>
    reflector.get({ name, namespace: cluster.namespace })?.data?.['value']
  const told = (): string[] =>
    events.map((event) =>
      event.type === 'set'
        ? `${event.initial ? 'initial' : 'set'} ${event.object.metadata.name}=${event.object.data?.['value']}`
        : `deleted ${event.object.metadata.name}`,
    )
  const lists = () => proxy.seen.filter((each) => each.url.includes('limit=500'))
  const requests = (): { watch: boolean; at: number; url: string }[] => proxy.seen

  beforeAll(async () => {
    process.on('unhandledRejection', onRejection)
    cluster = await connectToCluster()
  })
  afterAll(async () => {
    await cluster.end()
    process.off('unhandledRejection', onRejection)
    expect(rejections).toEqual([])
  })
  beforeEach(async () => {
    events = []
    errors = []
    proxy = await faultProxy(await upstreamOf(cluster.kubeconfigPath))
    const path = join(cluster.directory, 'proxied')
    await kubeconfigFor(cluster.kubeconfigPath, proxy.url, path)
    client = createKubeClient({ kubeconfigPath: path, userAgent: 'reflector-test' })
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop()))
    await client.close()
    proxy.close()
    const { items } = await cluster.client.list(CONFIG_MAPS, {
      namespace: cluster.namespace,
      labelSelector: LABEL,
    })
    await Promise.all(items.map((item) => remove(item.metadata.name)))
  })

  it('lists, then follows', async () => {
    await put('a', '1')
    const reflector = start()
    await reflector.hasSynced()
    expect(cached(reflector, 'a')).toBe('1')
    await put('b', '1')
    await put('a', '2')
    await remove('b')
    await eventually('all changes seen', () => events.length === 4)
    expect(told()).toEqual(['initial a=1', 'set b=1', 'set a=2', 'deleted b'])
    expect(reflector.items()).toHaveLength(1)
    expect(reflector.silenceSeconds()).toBeLessThan(5)
    expect(errors).toEqual([])
  })

  it('asks for bookmarks and resumes from its version after a clean close', async () => {
    await put('a', '1')
    const reflector = start()
    await reflector.hasSynced()
    await eventually('a watch', () => proxy.watches.size === 1)
    await put('a', '2')
    await eventually('the change', () => events.length === 2)
    proxy.endWatches()
    await put('a', '3')
    await eventually('the change after the close', () => cached(reflector, 'a') === '3')
    const watches = requests().filter((each) => each.watch)
    expect(watches.length).toBeGreaterThanOrEqual(2)
    expect(watches.every((each) => each.url.includes('allowWatchBookmarks=true'))).toBe(true)
    expect(lists()).toHaveLength(1)
    expect(told()).toEqual(['initial a=1', 'set a=2', 'set a=3'])
  })

  /** Breaks the running watch, changes the cluster meanwhile, heals, and expects the cache to follow. */
  const survives = async (breakIt: () => void, heal: () => void, tuning = QUICK): Promise<void> => {
    await put('kept', '1')
    await put('doomed', '1')
    const reflector = start(tuning)
    await reflector.hasSynced()
    await eventually('a watch', () => proxy.watches.size === 1)
    breakIt()
    await put('kept', '2')
    await put('new', '1')
    await remove('doomed')
    await sleep(700)
    heal()
    await eventually(
      'the cache equals the server',
      () =>
        cached(reflector, 'kept') === '2' &&
        cached(reflector, 'new') === '1' &&
        cached(reflector, 'doomed') === undefined,
      12_000,
    )
    expect(told().filter((line) => line === 'deleted doomed')).toHaveLength(1)
    expect(told().filter((line) => line === 'set kept=2')).toHaveLength(1)
  }
  const everything = (answer: (...args: Parameters<Fault>) => void) => () => {
    proxy.setFault((request, response) => {
      answer(request, response)
      return true
    })
    proxy.endWatches()
  }
  const heal = (): void => {
    proxy.setFault()
    proxy.setOnData()
  }
  const status = (code: number, reason: string): string =>
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason })

  it('survives a reset connection', () => survives(() => proxy.resetWatches(), heal))
  it('survives 500', () =>
    survives(
      everything((_, response) => void response.writeHead(500).end()),
      heal,
    ))
  it('survives refused connections', () =>
    survives(
      everything((request) => request.socket.destroy()),
      heal,
    ))
  it('survives 429', () =>
    survives(
      everything((_, response) => void response.writeHead(429, { 'retry-after': '1' }).end()),
      heal,
    ))
  it('survives garbage instead of an event', () =>
    survives(() => proxy.setOnData(() => Buffer.from('{"type":"ADDED","obj%%%\n')), heal))
  it('survives a line without an object', () =>
    survives(() => proxy.setOnData(() => Buffer.from('{"type":"MODIFIED"}\n')), heal))
  it('survives a truncated line', () =>
    survives(
      () =>
        proxy.setOnData((chunk, response) => {
          response.write(chunk.subarray(0, chunk.length >> 1))
          response.end()
          return null
        }),
      heal,
    ))
  it('survives an ERROR event that is no expiry', () =>
    survives(
      () => proxy.setOnData(() => Buffer.from(`{"type":"ERROR","object":${status(500, 'InternalError')}}\n`)),
      heal,
    ))

  it('notices a black hole by its silence', async () => {
    await survives(
      // The connection stays, but nothing comes: neither events nor an end.
      () => proxy.setOnData(() => null),
      heal,
    )
    expect(errors.map(String).join()).toContain('Silent')
  })

  it('asks a server that has nothing to tell to move before it takes the watch for dead', async () => {
    const reflector = start({ ...QUICK, silenceMs: 2_000 })
    await reflector.hasSynced()
    await eventually('a request for progress', () =>
      requests().some((each) => !each.watch && each.url.endsWith('limit=1')),
    )
    expect(errors).toEqual([])
  })

  it('lists again when its version has expired, by status and by event', async () => {
    for (const how of ['status', 'event'] as const) {
      const before = lists().length
      let once = true
      const expired = status(410, 'Expired')
      await survives(() => {
        proxy.setFault((request, response) => {
          if (!once || !(request.url ?? '').includes('watch=true')) return false
          once = false
          if (how === 'status') response.writeHead(410).end(expired)
          else response.end(`{"type":"ERROR","object":${expired}}\n`)
          return true
        })
        proxy.endWatches()
      }, heal)
      expect(lists().length - before).toBe(2)
      await running.pop()?.stop()
      await Promise.all(['kept', 'new'].map(remove))
      events = []
    }
  })

  it('starts when the first lists fail', async () => {
    await put('a', '1')
    proxy.setFault((_, response) => (response.writeHead(500).end(), true))
    const reflector = start()
    await sleep(500)
    heal()
    await reflector.hasSynced()
    expect(cached(reflector, 'a')).toBe('1')
    expect(errors.length).toBeGreaterThan(0)
  })

  it('sends at most one request a second while a fault lasts', async () => {
    await put('a', '1')
    const reflector = start({})
    await reflector.hasSynced()
    await eventually('a watch', () => proxy.watches.size === 1)
    everything((_, response) => void response.writeHead(500).end())()
    const from = requests().length
    await sleep(5_000)
    const during = requests().slice(from)
    heal()
    expect(during.length).toBeGreaterThanOrEqual(2)
    for (const [index, request] of during.entries()) {
      const previous = during[index - 1]
      if (previous !== undefined) expect(request.at - previous.at).toBeGreaterThanOrEqual(990)
    }
    await put('a', '2')
    await eventually('the change after the fault', () => cached(reflector, 'a') === '2')
  })

  it('keeps going when a listener throws, and stops at once', async () => {
    const seen: string[] = []
    const reflector = startReflector<ConfigMap>({
      client,
      type: CONFIG_MAPS,
      namespace: cluster.namespace,
      labelSelector: LABEL,
      onEvent: (event) => {
        seen.push(event.object.metadata.name)
        throw new Error('listener')
      },
      onError: () => {
        throw new Error('logger')
      },
    })
    await reflector.hasSynced()
    await put('a', '1')
    await put('b', '1')
    await eventually('both', () => seen.length === 2)
    const startedAt = performance.now()
    await reflector.stop()
    expect(performance.now() - startedAt).toBeLessThan(500)
  })

  it('can be stopped before it has synced', async () => {
    proxy.setFault(() => true)
    const reflector = start()
    const synced = reflector.hasSynced()
    await reflector.stop()
    await expect(synced).rejects.toMatchObject({ reason: 'Aborted' })
  })
})
