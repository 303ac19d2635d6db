import type { Clock } from '@service/domain'
import { optionalFile, pause, RETRY_TIMES, rotatingFile, startHealthServer } from '@service/pod'
import type { RetryTimes, Workload } from '@service/pod'
import type { Logger } from 'pino'
import { createApi } from './api.ts'
import type { Config } from './config.ts'
import { runForwarder } from './forward.ts'
import { runHeartbeats } from './heartbeat.ts'
import { createOpenSearchSource } from './source.ts'
import { createStatus } from './status.ts'
import type { Status } from './status.ts'
import { VERSION } from './version.ts'

/** Stopping finishes the request in flight, for at most ten seconds. */
export type Adapter = Workload & { readonly status: Readonly<Status> }
export type AdapterOptions = {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly retryTimes?: RetryTimes
}

const TIMEOUT_MS = 30_000
const STOP_MS = 10_000
const MIN_STALE_MS = 60_000
const STALE_POLLS = 5

/** Starts forwarding, heartbeats and the health routes. Rejects only when the health routes cannot listen. */
export async function startAdapter({
  config,
  log,
  clock,
  retryTimes = RETRY_TIMES,
}: AdapterOptions): Promise<Adapter> {
  const stopping = new AbortController()
  const abort = new AbortController()
  const token = rotatingFile(config.tokenFile)
  const server = await startHealthServer({
    address: config.bindAddress,
    port: config.port,
    isReady: () => token.isReadable(),
    state: () => ({ version: VERSION }),
  })
  const shared = { baseUrl: config.apiUrl, token, clock, timeoutMs: TIMEOUT_MS, abort: abort.signal }
  const api = createApi({ ...shared, ca: optionalFile(config.apiCaFile) })
  const source = createOpenSearchSource(sourceOptions(config, abort.signal))
  const status = createStatus()
  const common = { api, status, clock, log, retryTimes, stopping: stopping.signal }
  const work = Promise.all([
    runHeartbeats({
      ...common,
      tenantId: config.tenantId,
      intervalMs: config.heartbeatMs,
      staleMs: Math.max(MIN_STALE_MS, STALE_POLLS * config.pollMs),
    }),
    runForwarder({ ...common, source, pollMs: config.pollMs }),
  ])
  let stopped: Promise<void> | undefined
  const end = async () => {
    stopping.abort()
    const waited = new AbortController()
    await Promise.race([work, pause(STOP_MS, waited.signal)])
    waited.abort()
    abort.abort()
    await work
    api.close()
    await Promise.all([source.close(), server.close()])
  }
  return { healthPort: server.port, status, stop: () => (stopped ??= end()) }
}

function sourceOptions(config: Config, abort: AbortSignal) {
  const { indexerUsernameFile: username, indexerPasswordFile: password } = config
  const credentials =
    username === undefined || password === undefined
      ? undefined
      : { username: rotatingFile(username), password: rotatingFile(password) }
  return {
    url: config.indexerUrl,
    indexPattern: config.indexPattern,
    ca: optionalFile(config.indexerCaFile),
    credentials,
    timeoutMs: TIMEOUT_MS,
    abort,
  }
}
