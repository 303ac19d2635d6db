import type { Clock } from '@service/domain'
import { optionalFile, pause, RETRY_TIMES, rotatingFile, startHealthServer } from '@service/pod'
import type { RetryTimes, Workload } from '@service/pod'
import type { Logger } from 'pino'
import { createApi } from './api.ts'
import type { Config } from './config.ts'
import { runLoop } from './loop.ts'
import { createStatus, stateOf } from './status.ts'
import type { Status } from './status.ts'
import { VERSION } from './version.ts'
import type { RunHandlers } from './work.ts'

/** Stopping lets runs end within the drain time, then gives them back. */
export type Worker = Workload & { readonly status: Readonly<Status> }
export type WorkerOptions = {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  /** What it can work on. */
  readonly handlers?: RunHandlers
  readonly retryTimes?: RetryTimes
}

const TIMEOUT_MS = 10_000
/** Beside the drain time: what giving back may take. The pod is given more. */
const END_MS = 15_000

/** Starts the loop and the health routes. Rejects only when the health routes cannot listen. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { config, log, clock, handlers = {}, retryTimes = RETRY_TIMES } = options
  const stopping = new AbortController()
  const abort = new AbortController()
  const token = rotatingFile(config.tokenFile)
  const status = createStatus(config.llmApiKey !== undefined)
  const server = await startHealthServer({
    address: config.bindAddress,
    port: config.port,
    isReady: () => token.isReadable(),
    state: () => ({ version: VERSION, state: stateOf(status) }),
  })
  const ca = optionalFile(config.apiCaFile)
  const api = createApi({
    baseUrl: config.apiUrl,
    token,
    ca,
    clock,
    timeoutMs: TIMEOUT_MS,
    abort: abort.signal,
  })
  const { workerId, concurrency, drainMs, idleMs } = config
  const work = runLoop({
    api,
    handlers,
    status,
    clock,
    log,
    retryTimes,
    workerId,
    concurrency,
    drainMs,
    idleMs,
    stopping: stopping.signal,
  })
  let stopped: Promise<void> | undefined
  const end = async () => {
    stopping.abort()
    const waited = new AbortController()
    await Promise.race([work, pause(drainMs + END_MS, waited.signal)])
    waited.abort()
    abort.abort()
    await work
    api.close()
    await server.close()
  }
  return { healthPort: server.port, status, stop: () => (stopped ??= end()) }
}
