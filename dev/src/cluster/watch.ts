import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from './client.ts'
import type { ApiClient } from './client.ts'

export interface Watched {
  metadata: { name: string; namespace?: string; uid: string; resourceVersion?: string }
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

export interface ReflectOptions<T extends Watched> {
  api: ApiClient
  /** Path of the collection. */
  path: string
  query?: Readonly<Record<string, string>>
  /** The whole truth, after each list: what is not in it does not exist. */
  onSync: (items: readonly T[]) => void
  onEvent: (type: WatchEventType, object: T) => void
  /** Ends the loop. */
  signal: AbortSignal
  log: (line: string) => void
}

const WATCH_SECONDS = 300
/** Bookmarks come about once a minute: a longer silence means that the connection is dead. */
const SILENCE_MS = 90_000

/** Lists and watches a collection until the signal; whatever fails is tried again with backoff. Never rejects. */
export async function reflect<T extends Watched>(options: ReflectOptions<T>): Promise<void> {
  const { api, signal, log } = options
  let failures = 0
  while (!signal.aborted) {
    try {
      const list = await api.call<{ metadata: { resourceVersion: string }; items: T[] }>(
        'GET',
        url(options),
        {
          signal,
        },
      )
      options.onSync(list.items)
      failures = 0
      let version = list.metadata.resourceVersion
      while (!signal.aborted) version = await watchOnce(options, version)
    } catch (error) {
      if (signal.aborted) return
      const expired = error instanceof ApiError && error.status === 410
      if (!expired) log(`watch of ${options.path}: ${error instanceof Error ? error.message : String(error)}`)
      await pause(Math.min(5_000, 200 * 2 ** failures++), signal)
    }
  }
}

/** Sleeps between half and the whole of `ms`; ends early, without an error, at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
}

async function watchOnce<T extends Watched>(options: ReflectOptions<T>, from: string): Promise<string> {
  const started = performance.now()
  const watch = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(WATCH_SECONDS),
  }
  const response = await options.api.stream(url(options, watch), SILENCE_MS, options.signal)
  let version = from
  try {
    for await (const line of lines(response)) {
      const event = JSON.parse(line) as { type: WatchEventType | 'BOOKMARK' | 'ERROR'; object: T }
      if (event.type === 'ERROR') throw asError(event.object)
      version = event.object.metadata.resourceVersion ?? version
      if (event.type !== 'BOOKMARK') options.onEvent(event.type, event.object)
    }
  } finally {
    response.destroy()
  }
  // A server that closes at once must not be asked in a tight loop.
  if (performance.now() - started < 1_000) await pause(1_000, options.signal)
  return version
}

async function* lines(response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of response.setEncoding('utf8')) {
    const parts = (rest + (chunk as string)).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) if (part !== '') yield part
  }
}

function asError(object: unknown): ApiError {
  const status = object as { code?: number; reason?: string; message?: string }
  return new ApiError(
    status.code ?? 500,
    status.reason ?? '',
    status.message ?? 'the watch ended with an error',
  )
}

function url<T extends Watched>(
  options: ReflectOptions<T>,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ ...options.query, ...more }).toString()
  return query === '' ? options.path : `${options.path}?${query}`
}
