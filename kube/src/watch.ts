import type { IncomingMessage } from 'node:http'
import { errorOfStatus, errorWithoutAnswer } from './errors.ts'
import { lineSplitter } from './lines.ts'
import { collectionPath, withQuery } from './paths.ts'
import { isKubeError } from './port.ts'
import type { KubeError, KubeObject, ResourceType } from './port.ts'
import type { Transport } from './transport.ts'

/** The server may take so long for the headers of a watch; afterwards only silence counts. */
const OPEN_TIMEOUT_MS = 30_000
/** Longer than the ten minutes in which a healthy watch shall not reconnect. */
const SERVER_TIMEOUT_SECONDS = { min: 1_800, spread: 1_800 }
/** The part of the silence limit after which the server is asked to move; before the minute of its bookmarks. */
const NUDGE_AT = 0.6

export type WatchOptions<T> = {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly from: string
  readonly silenceMs: number
  readonly signal: AbortSignal
  readonly onBytes: () => void
  readonly onEvent: (type: 'set' | 'deleted', object: T) => void
}

/** How a watch ended: by the server's clean close (no error) or by a fault; `version` is where to resume. */
export type WatchEnd = {
  readonly version: string
  readonly events: number
  readonly error: KubeError | undefined
}

/** One watch request until its end. Never rejects. Whatever cannot be read ends it: resuming brings it again. */
export async function watchOnce<T extends KubeObject>(
  transport: Transport,
  type: ResourceType,
  options: WatchOptions<T>,
): Promise<WatchEnd> {
  const what = `watch of ${type.plural}`
  const progress = { version: options.from, events: 0 }
  try {
    const response = await transport.open({
      method: 'GET',
      path: watchPath(type, options),
      timeoutMs: Math.min(OPEN_TIMEOUT_MS, options.silenceMs),
      signal: options.signal,
    })
    options.onBytes()
    const split = lineSplitter((line) => applyLine(what, line, type, progress, options))
    const nudge = (): void => void askForProgress(transport, type, options)
    await consume(what, response, options, { split, nudge })
    return { ...progress, error: undefined }
  } catch (error) {
    const fault = isKubeError(error) ? error : errorWithoutAnswer(what, 'ConnectionFailed', error)
    return { ...progress, error: fault }
  }
}

function watchPath(type: ResourceType, options: WatchOptions<never>): string {
  const { min, spread } = SERVER_TIMEOUT_SECONDS
  return withQuery(collectionPath(type, options.namespace), {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: options.from,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    timeoutSeconds: String(min + Math.floor(Math.random() * spread)),
  })
}

/**
 * A kind that nobody changes gets no bookmarks: its watch cache stays at the version where the watch began. A consistent
 * list makes the server bring the cache forward, and the next bookmark, on the watch itself, proves it alive.
 */
async function askForProgress(
  transport: Transport,
  type: ResourceType,
  options: WatchOptions<never>,
): Promise<void> {
  const path = withQuery(collectionPath(type, options.namespace), { limit: '1' })
  // Whether it succeeds does not matter: only the watch's own bytes count.
  await transport.send({ method: 'GET', path, signal: options.signal }).catch(() => undefined)
}

/** Reads until the end of the body, the abort, a line that fails, or a silence that is too long. */
function consume(
  what: string,
  response: IncomingMessage,
  options: WatchOptions<never>,
  { split, nudge }: { readonly split: (chunk: Buffer) => void; readonly nudge: () => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (error?: unknown): void => {
      clearTimeout(timer)
      clearTimeout(nudging)
      options.signal.removeEventListener('abort', abort)
      response.destroy()
      if (error === undefined) resolve()
      else reject(error)
    }
    const timer = setTimeout(() => finish(errorWithoutAnswer(what, 'Silent')), options.silenceMs)
    const nudging = setTimeout(nudge, options.silenceMs * NUDGE_AT)
    const abort = (): void => finish(errorWithoutAnswer(what, 'Aborted'))
    options.signal.addEventListener('abort', abort, { once: true })
    response.on('data', (chunk: Buffer) => {
      timer.refresh()
      nudging.refresh()
      options.onBytes()
      try {
        split(chunk)
      } catch (error) {
        finish(error)
      }
    })
    response.on('end', () => finish())
    response.on('error', finish)
    // A body that is cut off closes without an end; after either of them this does nothing.
    response.on('close', () => finish(errorWithoutAnswer(what, 'ConnectionFailed')))
    if (options.signal.aborted) abort()
  })
}

type Line = { readonly type?: unknown; readonly object?: unknown }

function applyLine<T extends KubeObject>(
  what: string,
  line: string,
  kind: ResourceType,
  progress: { version: string; events: number },
  options: WatchOptions<T>,
): void {
  const { type, object } = parseLine(what, line)
  if (type === 'ERROR') throw errorOfStatus(what, object)
  if (!isVersioned(object)) throw errorWithoutAnswer(what, 'BadAnswer')
  const typed = { ...object, apiVersion: kind.apiVersion, kind: kind.kind } as unknown as T
  if (type === 'ADDED' || type === 'MODIFIED') options.onEvent('set', typed)
  else if (type === 'DELETED') options.onEvent('deleted', typed)
  else if (type !== 'BOOKMARK') throw errorWithoutAnswer(what, 'BadAnswer')
  progress.version = object.metadata.resourceVersion
  progress.events += 1
}

function parseLine(what: string, line: string): Line {
  try {
    const parsed: unknown = JSON.parse(line)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch (error) {
    throw errorWithoutAnswer(what, 'BadAnswer', error)
  }
  throw errorWithoutAnswer(what, 'BadAnswer')
}

function isVersioned(object: unknown): object is { metadata: { resourceVersion: string } } {
  if (typeof object !== 'object' || object === null || !('metadata' in object)) return false
  const { metadata } = object
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    'resourceVersion' in metadata &&
    typeof metadata.resourceVersion === 'string' &&
    metadata.resourceVersion !== ''
  )
}
