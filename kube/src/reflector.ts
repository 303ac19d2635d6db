import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from './backoff.ts'
import { listAll, TRANSPORT } from './client.ts'
import type { ConnectedClient } from './client.ts'
import { errorWithoutAnswer } from './errors.ts'
import { isKubeError } from './port.ts'
import type { KubeClient, KubeObject, Reflector, ReflectorOptions, WatchEvent } from './port.ts'
import { createStore } from './store.ts'
import { watchOnce } from './watch.ts'

export type ReflectorTuning = {
  /**
   * No byte for so long means a dead connection; bookmarks come about each minute. With the pause before the next
   * attempt it makes 75 s.
   */
  readonly silenceMs: number
  readonly backoffFirstMs: number
  readonly backoffMaxMs: number
  /** What `Retry-After` may ask for at most. */
  readonly retryAfterMaxMs: number
  readonly listTimeoutMs: number
  /** A watch that lasted so long, or brought anything, ends a fault. */
  readonly healthyMs: number
}
const TUNING: ReflectorTuning = {
  silenceMs: 72_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 6_000,
  retryAfterMaxMs: 30_000,
  listTimeoutMs: 60_000,
  healthyMs: 5_000,
}
/** After so many watches in a row that brought nothing, the version that they resume from is doubted. */
const DOUBT_AFTER = 5

/**
 * Keeps a cache of one kind: a paged list, then watches from its version. A watch that ends is resumed; an expired
 * version, or repeated failure, leads to a new list, whose differences are told as events. Ends only by `stop`.
 * `tuning` is for tests.
 */
export function startReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  tuning: Partial<ReflectorTuning> = {},
): Reflector<T> {
  const settings = { ...TUNING, ...tuning }
  const store = createStore<T>()
  const stopping = new AbortController()
  const synced = Promise.withResolvers<void>()
  // Nobody has to wait for it, and stopping early rejects it.
  synced.promise.catch(() => undefined)
  let heardAt = performance.now()
  const heard = (): void => {
    heardAt = performance.now()
  }
  const emit = (events: readonly WatchEvent<T>[]): void => {
    for (const event of events) {
      try {
        options.onEvent(event)
      } catch (error) {
        report(options, error)
      }
    }
  }
  const wire = wireOf(options, settings, stopping.signal, heard)
  const done = run({
    wire,
    store,
    emit,
    settings,
    stopping: stopping.signal,
    options,
    synced: synced.resolve,
  })
  return {
    hasSynced: () => synced.promise,
    get: (key) => store.get(key),
    items: () => store.items(),
    silenceSeconds: () => (performance.now() - heardAt) / 1_000,
    stop: async () => {
      stopping.abort()
      synced.reject(errorWithoutAnswer(`watch of ${options.type.plural}`, 'Aborted'))
      await done
    },
  }
}

type Wire<T> = {
  list(): Promise<{ items: T[]; resourceVersion: string }>
  watch(from: string, onEvent: (type: 'set' | 'deleted', object: T) => void): WatchAttempt
}
type WatchAttempt = ReturnType<typeof watchOnce>

function wireOf<T extends KubeObject>(
  options: ReflectorOptions<T>,
  settings: ReflectorTuning,
  signal: AbortSignal,
  onBytes: () => void,
): Wire<T> {
  const transport = transportOf(options.client)
  const scope = {
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    signal,
    onBytes,
  }
  return {
    list: () => listAll<T>(transport, options.type, { ...scope, timeoutMs: settings.listTimeoutMs }),
    watch: (from, onEvent) =>
      watchOnce<T>(transport, options.type, { ...scope, from, silenceMs: settings.silenceMs, onEvent }),
  }
}

function transportOf(client: KubeClient) {
  const transport = (client as Partial<ConnectedClient>)[TRANSPORT]
  if (transport === undefined) throw new TypeError('the reflector needs a client of createKubeClient')
  return transport
}

function report<T extends KubeObject>(options: ReflectorOptions<T>, error: unknown): void {
  try {
    options.onError?.(error)
  } catch {
    // A logger that fails must not end the watch.
  }
}

type Run<T extends KubeObject> = {
  readonly wire: Wire<T>
  readonly store: ReturnType<typeof createStore<T>>
  readonly emit: (events: readonly WatchEvent<T>[]) => void
  readonly settings: ReflectorTuning
  readonly stopping: AbortSignal
  readonly options: ReflectorOptions<T>
  readonly synced: () => void
}

/** Never rejects: every fault is reported, waited out and tried again. */
async function run<T extends KubeObject>(context: Run<T>): Promise<void> {
  const { wire, store, emit, settings, stopping } = context
  let version: string | undefined
  let failures = 0
  while (!stopping.aborted) {
    const startedAt = performance.now()
    try {
      if (version === undefined) {
        const list = await wire.list()
        stripManagedFields(list.items)
        emit(store.replaceAll(list.items))
        version = list.resourceVersion
        context.synced()
        // During a fault the watch is the next request and waits its turn.
        if (failures > 0) await pause(settings.backoffFirstMs, stopping)
        if (stopping.aborted) return
      }
      const attempt = wire.watch(version, (type, object) => {
        stripManagedFields([object])
        emit(type === 'set' ? store.set(object) : store.delete(object))
      })
      const end = await attempt
      version = end.version
      const healthy = end.events > 0 || performance.now() - startedAt > settings.healthyMs
      if (healthy) failures = 0
      if (end.error !== undefined) throw end.error
      if (healthy) {
        // Something between us and the server may close after every event: no reason to ask more often than in a fault.
        await pause(settings.backoffFirstMs - (performance.now() - startedAt), stopping)
        continue
      }
      failures += 1
    } catch (error) {
      if (stopping.aborted) return
      failures += 1
      report(context.options, error)
      if (isKubeError(error, 'Expired', 'Gone') || failures % DOUBT_AFTER === 0) version = undefined
      await pause(delayMs(error, failures, settings), stopping)
      continue
    }
    await pause(delayMs(undefined, failures, settings), stopping)
  }
}

function delayMs(error: unknown, failures: number, settings: ReflectorTuning): number {
  const backoff = backoffMs(failures, { firstMs: settings.backoffFirstMs, maxMs: settings.backoffMaxMs })
  const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0
  return Math.max(backoff, Math.min(asked, settings.retryAfterMaxMs))
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** They are a third of an object's size and nobody reads them here. */
function stripManagedFields(objects: readonly KubeObject[]): void {
  for (const object of objects) {
    const metadata = object.metadata as { managedFields?: unknown }
    delete metadata.managedFields
  }
}
