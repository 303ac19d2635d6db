import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from '../src/config.ts'
import type { Config } from '../src/config.ts'
import type { RunHandler, RunHandlers } from '../src/work.ts'
import { startWorker } from '../src/worker.ts'
import type { Worker } from '../src/worker.ts'
import { startFakeApi } from './fake-api.ts'

const KEY = 'llm-canary-4f1d'
let api: Awaited<ReturnType<typeof startFakeApi>>
let folder: string
let tokenFile: string
let lines: string[]
const running = new Set<Worker>()
beforeEach(async () => {
  api = await startFakeApi()
  folder = await mkdtemp(join(tmpdir(), 'runs-worker-'))
  tokenFile = join(folder, 'token')
  await writeFile(tokenFile, api.state.token)
  lines = []
})
afterEach(async () => {
  await Promise.all([...running].map((worker) => worker.stop()))
  running.clear()
  await api.stop()
  await rm(folder, { recursive: true })
})

async function start(
  handlers: RunHandlers = {},
  env: Record<string, string> = {},
  change: Partial<Config> = {},
) {
  const environment = {
    API_URL: api.url,
    TENANT_ID: '01980000-0000-7000-8000-000000000000',
    TENANT_SLUG: 'acme',
    WORKER_ID: 'worker-0',
    RUNS_WORKER_TOKEN_FILE: tokenFile,
    LLM_API_KEY: KEY,
    BIND_ADDRESS: '127.0.0.1',
    PORT: '0',
    ...env,
  }
  const worker = await startWorker({
    config: { ...parse(environment), idleMs: 20, ...change },
    log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
    clock: () => new Date(),
    handlers,
    retryTimes: { firstMs: 5, maxMs: 40 },
  })
  running.add(worker)
  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${worker.healthPort}/health/ready`)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { worker, ready }
}
async function waitUntil(what: string, isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await sleep(5)
  }
}
/** A handler that ends when it is told to. */
function gate() {
  const open: (() => void)[] = []
  const signals: AbortSignal[] = []
  const handler: RunHandler = (_run, signal) => {
    signals.push(signal)
    return new Promise((resolve) => {
      open.push(() => resolve(null))
    })
  }
  return { handler, signals, open }
}

describe('without work', () => {
  test('it asks again and again, and says that it idles', async () => {
    const { ready } = await start()
    await waitUntil('three questions', () => api.state.claims >= 3)
    expect(await ready()).toMatchObject({ status: 200, body: { ok: true, state: 'idle' } })
    expect(lines.filter((line) => line.includes('there is no run'))).toHaveLength(1)
  })

  test('without a key it asks nothing, is ready, and says why', async () => {
    const { ready } = await start({}, { LLM_API_KEY: '' })
    await sleep(100)
    expect(api.state.claims).toBe(0)
    expect(await ready()).toMatchObject({ status: 200, body: { state: 'no_llm_key' } })
    expect(lines.join('')).toContain('no LLM key')
  })

  test('a token that cannot be read makes it unready, and a new one is used without a restart', async () => {
    await rm(tokenFile)
    const { ready, worker } = await start()
    await waitUntil('the failure', () => worker.status.api === 'token_unreadable')
    expect((await ready()).status).toBe(503)
    api.state.token = 'worker-token-2'
    await writeFile(tokenFile, api.state.token)
    await waitUntil('an answer', () => worker.status.asked)
    expect((await ready()).body).toMatchObject({ ok: true, state: 'idle' })
    api.state.token = 'worker-token-3'
    await waitUntil('the refusal', () => worker.status.api === 'unauthorized')
    await writeFile(tokenFile, api.state.token)
    await waitUntil('an answer', () => worker.status.api === null)
  })

  test.each([
    ['busy', { status: 503, headers: { 'retry-after': '0' } }, 'unavailable'],
    ['failing', { status: 500 }, 'failing'],
    ['not understood', { status: 200, body: { run: 1 } }, 'invalid_answer'],
  ])('an API that is %s is asked again', async (_, answer, failure) => {
    api.state.fault = () => answer
    const { worker, ready } = await start()
    await waitUntil('the failure', () => worker.status.api === failure)
    expect((await ready()).body).toMatchObject({ ok: true, state: `api_${failure}` })
    api.state.fault = () => undefined
    await waitUntil('an answer', () => worker.status.asked && worker.status.api === null)
  })
})

describe('a run', () => {
  test.each(['triage', 'unheard-of'])(
    'of kind %s that it cannot do is given back at once',
    async (jobType) => {
      const id = api.enqueue(jobType)
      const { worker } = await start()
      await waitUntil('the release', () => worker.status.released === 1)
      expect(api.calls('release')).toEqual([
        {
          verb: 'release',
          id,
          token: `run-${id}`,
          body: {
            lease_id: expect.any(String),
            reason: `this worker cannot do ${jobType}`,
            error_category: 'unsupported',
          },
        },
      ])
      const asked = api.state.claims
      await waitUntil('the next question', () => api.state.claims > asked)
    },
  )

  test('keeps its lease while it is worked on, by the newest token, and is not given back when it is done', async () => {
    // A third of it passes between two renewals: long enough for a machine that is busy.
    api.state.leaseMs = 1_500
    const id = api.enqueue()
    const { handler, open } = gate()
    const { worker, ready } = await start({ triage: handler })
    await waitUntil('three renewals', () => api.calls('heartbeat').length >= 3)
    expect((await ready()).body['state']).toBe('working')
    expect(api.calls('heartbeat').map(({ token }) => token)).toEqual(
      expect.arrayContaining([`run-${id}`, `renewed-${id}`]),
    )
    open[0]?.()
    await waitUntil('the end', () => worker.status.completed === 1)
    expect(api.calls('release')).toHaveLength(0)
  })

  test.each([
    ['the API says so', 90, { status: 409, body: { code: 'lease_lost' } }],
    ['the API has been away for longer', 60, { status: 503 }],
  ])('whose lease is lost because %s is dropped and not given back', async (_, leaseMs, answer) => {
    api.state.leaseMs = leaseMs
    api.state.fault = (verb) => (verb === 'heartbeat' ? answer : undefined)
    api.enqueue()
    const { handler, signals } = gate()
    const { worker } = await start({ triage: handler })
    await waitUntil('the loss', () => signals.some(({ aborted }) => aborted) && worker.status.running === 0)
    expect(api.calls('release')).toHaveLength(0)
    expect(worker.status.completed).toBe(0)
  })

  test('that fails is given back with a reason; one that cannot be given back does not stop the others', async () => {
    api.enqueue()
    api.enqueue()
    api.state.fault = (verb) =>
      verb === 'release' && api.calls('release').length <= 3 ? { status: 500 } : undefined
    const { worker } = await start({ triage: () => Promise.reject(new Error('the model is away')) })
    await waitUntil('the second one', () => worker.status.released === 1)
    expect(api.calls('release')).toHaveLength(4)
    expect(api.calls('release').at(-1)?.body).toMatchObject({
      reason: 'the model is away',
      error_category: 'internal',
    })
  })

  test('never comes with more others than the concurrency allows', async () => {
    for (let index = 0; index < 5; index++) api.enqueue()
    const { handler, open } = gate()
    const { worker } = await start({ triage: handler }, { CONCURRENCY: '2', DRAIN_SECONDS: '0' })
    await waitUntil('two runs', () => open.length === 2)
    await sleep(60)
    expect([worker.status.running, open.length]).toEqual([2, 2])
    open[0]?.()
    await waitUntil('a third run', () => open.length === 3)
    expect(worker.status.running).toBe(2)
  })
})

describe('the end', () => {
  test('waits for what finishes within the drain time and gives the rest back', async () => {
    const [first, second] = [api.enqueue(), api.enqueue()]
    const { handler, open } = gate()
    const { worker } = await start({ triage: handler }, { CONCURRENCY: '2' }, { drainMs: 150 })
    await waitUntil('both runs', () => open.length === 2)
    const stopped = worker.stop()
    open[0]?.()
    await stopped
    expect(worker.status).toMatchObject({ completed: 1, released: 1, running: 0 })
    expect(api.calls('release')).toMatchObject([{ id: second, body: { error_category: 'shutdown' } }])
    expect(first).not.toBe(second)
    const asked = api.state.claims
    await sleep(60)
    expect(api.state.claims).toBe(asked)
  })

  test('of a serial worker gives back at once', async () => {
    expect(parse({ ...minimal(), CONCURRENCY: '1', DRAIN_SECONDS: '60' }).drainMs).toBe(0)
    api.enqueue()
    const { handler, open } = gate()
    const { worker } = await start({ triage: handler })
    await waitUntil('the run', () => open.length === 1)
    await worker.stop()
    expect(api.calls('release')).toMatchObject([{ body: { error_category: 'shutdown' } }])
  })
})

const minimal = () => ({
  API_URL: api.url,
  TENANT_ID: '01980000-0000-7000-8000-000000000000',
  TENANT_SLUG: 'acme',
  RUNS_WORKER_TOKEN_FILE: tokenFile,
})

test('key and tokens are in no log line, no health answer, and the key in no request', async () => {
  const id = api.enqueue()
  const { ready, worker } = await start()
  await waitUntil('the release', () => worker.status.released === 1)
  const health = JSON.stringify(await ready())
  for (const secret of [KEY, api.state.token, `run-${id}`])
    expect(lines.join('') + health, secret).not.toContain(secret)
  expect(api.state.headers.join('') + JSON.stringify(api.state.seen)).not.toContain(KEY)
})
