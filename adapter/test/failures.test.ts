import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rotatingFile } from '@service/pod'
import { generateAlerts, startIndexer } from '@service/dev'
import type { Checkpoint } from '@service/wire'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { createApi } from '../src/api.ts'
import { parse } from '../src/config.ts'
import { runForwarder } from '../src/forward.ts'
import type { SourceHit } from '../src/source.ts'
import { createStatus } from '../src/status.ts'
import type { Fault } from './fake-api.ts'
import { createWorld, idsOf, RETRY_TIMES, until } from './harness.ts'
import type { World } from './harness.ts'

let world: World
afterEach(() => world.close())

const ENTRY = new URL('../src/main.ts', import.meta.url).pathname
const alerts = (count: number) => generateAlerts({ count, seed: 11, until: new Date(), minutes: 120 })
const storedIds = () => [...world.api.state.events.keys()].toSorted()

/** A repeatable sequence of faults, so that a failure here can be seen again. */
function unreliable(share: number): () => Fault | undefined {
  let state = 12_345
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    const draw = state / 4_294_967_296
    if (draw > share) return undefined
    const faults: readonly Fault[] = [
      'before',
      'after',
      { status: 503, retryAfter: 0 },
      { status: 429 },
      { status: 502 },
    ]
    return faults[state % faults.length]
  }
}

/** Fails when a checkpoint stands behind an alert that the API has not stored. */
function checkpointKeeper(wanted: readonly Readonly<Record<string, unknown>>[]) {
  const violations: string[] = []
  let last = -1
  const watch = ({ cursor_ts: ts, cursor_event_id: cursorId }: Checkpoint) => {
    const at = Date.parse(ts ?? '')
    if (at < last) violations.push(`back to ${ts}`)
    last = at
    for (const alert of wanted) {
      const id = String(alert['id'])
      const time = Date.parse(String(alert['timestamp']).replace('+0000', 'Z'))
      const covered = time < at || (time === at && id <= String(cursorId))
      if (covered && !world.api.state.events.has(id)) violations.push(`${id} is not stored`)
    }
  }
  return { violations, watch }
}

describe('an unreliable API', () => {
  it('gets everything exactly once, and the checkpoint only moves after its answers', async () => {
    world = await createWorld({ batchSize: 40 })
    const wanted = alerts(2_000)
    await world.load(wanted)
    const keeper = checkpointKeeper(wanted)
    world.api.state.onCheckpoint = keeper.watch
    world.api.state.fault = unreliable(0.35)
    for (const share of [0.2, 0.4, 0.6, 0.8]) {
      const adapter = await world.start()
      await until('a part', () => world.api.state.events.size >= wanted.length * share)
      await adapter.stop()
    }
    await world.start()
    await until('all alerts', () => world.api.state.events.size >= wanted.length)
    expect(storedIds()).toEqual(idsOf(wanted))
    expect(keeper.violations).toEqual([])
    expect(world.api.state.duplicates).toBeGreaterThan(0)
  })

  it('is not read ahead of: while it is away the indexer is the spool', async () => {
    world = await createWorld()
    world.api.state.fault = (route) => (route === 'POST events' ? { status: 503 } : undefined)
    const stopping = new AbortController()
    let pages = 0
    async function* read(): AsyncGenerator<readonly SourceHit[]> {
      for (;;) {
        pages += 1
        yield [{ id: String(pages), index: 'i', source: { rule: { level: 1 } }, time: pages }]
      }
    }
    const clock = () => new Date()
    const api = createApi({
      baseUrl: new URL(world.api.url),
      token: rotatingFile(world.tokenFile),
      ca: undefined,
      clock,
      timeoutMs: 1_000,
      abort: new AbortController().signal,
    })
    const status = createStatus()
    const done = runForwarder({
      api,
      source: { read, close: () => Promise.resolve() },
      status,
      clock,
      log: pino({ level: 'silent' }),
      pollMs: 1,
      retryTimes: RETRY_TIMES,
      stopping: stopping.signal,
    })
    await until('the adapter to notice', () => status.api === 'unavailable')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(pages).toBe(1)
    stopping.abort()
    await done
    api.close()
  })

  it('is waited for as long as it asks', async () => {
    world = await createWorld()
    await world.load(alerts(1))
    const calls: number[] = []
    world.api.state.fault = (route) => {
      if (route !== 'POST events') return undefined
      calls.push(performance.now())
      return calls.length === 1 ? { status: 503, retryAfter: 1 } : undefined
    }
    await world.start()
    await until('the alert', () => world.api.state.events.size === 1)
    expect((calls[1] ?? 0) - (calls[0] ?? 0)).toBeGreaterThan(950)
  })

  it('may answer nonsense: then nothing is settled', async () => {
    world = await createWorld()
    const wanted = alerts(3)
    await world.load(wanted)
    world.api.state.fault = (route) => (route === 'POST events' ? { status: 200 } : undefined)
    const adapter = await world.start()
    await until('the adapter to notice', () => adapter.status.api === 'invalid_answer')
    expect(world.api.state.checkpoint.cursor_ts).toBeNull()
    world.api.state.fault = () => undefined
    await until('all alerts', () => world.api.state.events.size === 3)
  })
})

describe('heartbeats', () => {
  it('come at once, without an indexer, and say so', async () => {
    world = await createWorld()
    const gone = await startIndexer({ port: 0 })
    await gone.stop()
    await world.start({ INDEXER_URL: `${gone.url}/acme` })
    await until('a heartbeat', () => world.api.state.beats.length > 0)
    expect(world.api.state.beats[0]).toMatchObject({ version: '0.1.0', health: 'starting' })
    await until('an honest one', () => world.api.state.beats.at(-1)?.health === 'indexer_unreachable')
    const again = await startIndexer({ port: Number(new URL(gone.url).port) })
    await until('a healthy one', () => world.api.state.beats.at(-1)?.health === 'ok')
    await again.stop()
    await until('an honest one again', () => world.api.state.beats.at(-1)?.health === 'indexer_unreachable')
  })

  it('carry figures', async () => {
    world = await createWorld()
    const wanted = alerts(30)
    await world.load(wanted)
    await world.start()
    await until('a healthy one', () =>
      world.api.state.beats.some(({ metrics }) => metrics?.['forwarded'] === 30),
    )
    await until('the end', () => world.api.state.beats.at(-1)?.metrics?.['lag_seconds'] === 0)
    expect(world.api.state.beats.at(-1)).toMatchObject({
      health: 'ok',
      metrics: { forwarded: 30, duplicates: 0, rejected: 0, last_event_at: expect.any(String) as string },
    })
  })

  it('do not say ok while the API refuses the events', async () => {
    world = await createWorld()
    await world.load(alerts(3))
    world.api.state.fault = (route) => (route === 'POST events' ? { status: 422 } : undefined)
    await world.start()
    await until('an honest one', () => world.api.state.beats.at(-1)?.health === 'api_rejecting')
    expect(world.api.state.beats.map(({ health }) => health)).not.toContain('ok')
  })
})

describe('the process', () => {
  const start = (env: Readonly<Record<string, string>>, args: readonly string[] = []) => {
    const child = spawn(process.execPath, [ENTRY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = { out: '', error: '' }
    child.stdout.on('data', (data: Buffer) => (output.out += data.toString()))
    child.stderr.on('data', (data: Buffer) => (output.error += data.toString()))
    const exited = once(child, 'exit') as Promise<[number | null, string | null]>
    return { child, output, exited }
  }

  it('loses nothing when it is killed in mid-batch, again and again', async () => {
    world = await createWorld({ batchSize: 20 })
    const wanted = alerts(1_200)
    await world.load(wanted)
    const keeper = checkpointKeeper(wanted)
    world.api.state.onCheckpoint = keeper.watch
    for (const share of [0.1, 0.4, 0.7]) {
      const { child, exited } = start({ ...world.environment, POLL_SECONDS: '1' })
      await until('a part', () => world.api.state.events.size >= wanted.length * share)
      child.kill('SIGKILL')
      await exited
    }
    const { child, output, exited } = start({ ...world.environment, POLL_SECONDS: '1', LOG_LEVEL: 'trace' })
    await until('all alerts', () => world.api.state.events.size >= wanted.length)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(storedIds()).toEqual(idsOf(wanted))
    expect(keeper.violations).toEqual([])
    expect(output.out).not.toContain('token-1')
    expect(output.out).toContain('"tenant":"acme"')
  })

  it('ends within ten seconds while an API hangs', async () => {
    world = await createWorld()
    const { server, url } = await hangingServer()
    const { child, output, exited } = start({ ...world.environment, API_URL: url, LOG_LEVEL: 'info' })
    await until('the start', () => output.out.includes('has started') || output.error !== '')
    const begin = performance.now()
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(performance.now() - begin).toBeLessThan(11_500)
    server.close()
    server.closeAllConnections()
  }, 30_000)

  it('names wrong settings and ends with 2', async () => {
    world = await createWorld()
    const { output, exited } = start({
      ...world.environment,
      TENANT_ID: '',
      POLL_SECONDS: 'often',
      LOG_LEVEL: 'info',
    })
    expect(await exited).toEqual([2, null])
    expect(output.error).toContain('TENANT_ID is missing')
    expect(output.error).toContain('POLL_SECONDS is wrong: expected a whole number')
    const help = start({}, ['--help'])
    expect(await help.exited).toEqual([0, null])
    expect(help.output.out).toContain('ADAPTER_TOKEN_FILE')
  })
})

async function hangingServer() {
  const { createServer } = await import('node:http')
  const server = createServer(() => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as { port: number }).port}` }
}

describe('the health routes', () => {
  it('live is always, ready needs a token, and both need no API', async () => {
    world = await createWorld()
    const adapter = await world.start({ API_URL: 'http://127.0.0.1:9' })
    const get = async (path: string, method = 'GET') =>
      (await fetch(`http://127.0.0.1:${adapter.healthPort}${path}`, { method })).status
    expect(await get('/health/live')).toBe(200)
    expect(await get('/health/ready')).toBe(200)
    expect(await get('/health')).toBe(404)
    expect(await get('/health/live', 'POST')).toBe(405)
    await adapter.stop()
    const without = await world.start({ ADAPTER_TOKEN_FILE: `${world.folder}/none` })
    const status = async (path: string) =>
      (await fetch(`http://127.0.0.1:${without.healthPort}${path}`)).status
    expect(await status('/health/live')).toBe(200)
    expect(await status('/health/ready')).toBe(503)
    expect(parse(world.environment).port).toBe(0)
  })
})
