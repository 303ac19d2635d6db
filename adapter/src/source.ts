import type { Readable } from 'node:stream'
import { Client, errors } from '@opensearch-project/opensearch'
import { reasonOf } from '@service/pod'
import type { RotatingFile } from '@service/pod'
import * as v from 'valibot'
import type { Hit } from './map.ts'

/** `time` is the document's `timestamp` in milliseconds, by which documents are ordered. */
export type SourceHit = Hit & { readonly time: number | null }

/** Where events come from. */
export type EventSource = {
  /**
   * Pages of one snapshot, ordered by (timestamp, id), from a moment on (null: from the beginning).
   * Documents without a timestamp are not seen. Rejects with a SourceError.
   */
  read: (from: Date | null, pageSize: number) => AsyncGenerator<readonly SourceHit[]>
  close: () => Promise<void>
}

export type SourceFailure = 'unreachable' | 'unauthorized' | 'failing' | 'snapshot_gone'
export class SourceError extends Error {
  override readonly name = 'SourceError'
  readonly failure: SourceFailure
  constructor(failure: SourceFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.failure = failure
  }
}

export type OpenSearchOptions = {
  readonly url: URL
  readonly indexPattern: string
  readonly ca: RotatingFile | undefined
  readonly credentials: { readonly username: RotatingFile; readonly password: RotatingFile } | undefined
  readonly timeoutMs: number
  readonly abort: AbortSignal
}

const KEEP_ALIVE = '2m'
/** Wazuh repeats earlier logs in these; they can be many times the size of the alert. */
const EXCLUDED = ['previous_output', 'previous_log', 'syscheck.diff']
/** An answer may hold alerts of any size, and the memory of a pod is small. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024
const SORT = [
  { timestamp: { order: 'asc' as const, unmapped_type: 'date' as const } },
  { id: { order: 'asc' as const, missing: '_last', unmapped_type: 'keyword' as const } },
  // Only documents without an id tie here.
  { _doc: { order: 'asc' as const } },
]

const Page = v.object({
  timed_out: v.boolean(),
  _shards: v.object({ failed: v.number() }),
  hits: v.object({
    hits: v.array(
      v.object({
        _id: v.string(),
        _index: v.string(),
        _source: v.optional(v.unknown()),
        sort: v.array(v.nullable(v.union([v.number(), v.string()]))),
      }),
    ),
  }),
})
type FoundHit = v.InferOutput<typeof Page>['hits']['hits'][number]
type SortValues = FoundHit['sort']
type Query = {
  readonly pit: string
  readonly from: Date | null
  readonly size: number
  readonly after: SortValues | undefined
  readonly withSource: boolean
}

const searchBody = ({ pit, from, size, after, withSource }: Query) => ({
  pit: { id: pit, keep_alive: KEEP_ALIVE },
  query:
    from === null
      ? { exists: { field: 'timestamp' } }
      : { range: { timestamp: { gte: from.getTime(), format: 'epoch_millis' } } },
  size,
  sort: SORT,
  track_total_hits: false,
  _source: withSource ? { excludes: EXCLUDED } : false,
  // The client's types know no null, which stands for a missing id.
  ...(after === undefined ? {} : { search_after: after as string[] }),
})

/** Reads a tenant's indices in OpenSearch, with files of credentials and CA that may change at any time. */
export function createOpenSearchSource(options: OpenSearchOptions): EventSource {
  const clients = createClients(options)

  async function* pages(client: Client, pit: string, from: Date | null, pageSize: number) {
    let after: SortValues | undefined
    let size = pageSize
    for (;;) {
      const asked = size
      const query = { pit, from, size, after, withSource: true }
      const found =
        (await search(client, query)) ?? (size === 1 ? await withoutSource(client, query) : undefined)
      if (found === undefined) {
        size = Math.ceil(size / 2)
        continue
      }
      if (found.length > 0) yield found.map(toHit)
      after = found.at(-1)?.sort
      if (found.length < asked) return
      size = Math.min(pageSize, size * 2)
    }
  }

  /** An alert that is too large to be read is still known by its id. */
  const withoutSource = (client: Client, query: Query) => search(client, { ...query, withSource: false })

  /** Undefined when the answer is too large. */
  const search = async (client: Client, query: Query): Promise<FoundHit[] | undefined> => {
    const signal = AbortSignal.any([options.abort, AbortSignal.timeout(options.timeoutMs)])
    const request = client.search(
      { allow_partial_search_results: false, body: searchBody(query) },
      // The client itself would hold an answer of any size, and wait for its end for ever.
      { asStream: true },
    )
    const { statusCode, body } = await abortable(request, signal)
    const text = await readText(body as unknown as Readable, signal)
    if (statusCode !== null && statusCode >= 400) throw statusError(statusCode, errorType(text), true)
    if (text === undefined) return undefined
    const { timed_out: timedOut, _shards: shards, hits } = v.parse(Page, JSON.parse(text))
    if (timedOut || shards.failed > 0) throw new SourceError('failing', 'the indexer answered in part only')
    return hits.hits
  }

  return {
    read: async function* read(from, pageSize) {
      const client = await clients.get()
      let pit: string | undefined
      try {
        pit = await openSnapshot(client, options)
        if (pit !== undefined) yield* pages(client, pit, from, pageSize)
      } catch (error) {
        const failure = asSourceError(error, pit !== undefined)
        if (failure.failure === 'unauthorized') clients.forget()
        throw failure
      } finally {
        // A snapshot that is not closed ends by itself.
        if (pit !== undefined) await closeSnapshot(client, pit, options)
      }
    },
    close: () => clients.close(),
  }
}

async function openSnapshot(client: Client, options: OpenSearchOptions): Promise<string | undefined> {
  const request = client.createPit({
    index: options.indexPattern.split(','),
    keep_alive: KEEP_ALIVE,
    allow_partial_pit_creation: false,
  })
  try {
    const signal = AbortSignal.any([options.abort, AbortSignal.timeout(options.timeoutMs)])
    const { body } = await abortable(request, signal)
    return body.pit_id
  } catch (error) {
    // A new tenant has no index of alerts yet.
    if (typeOf(error) === 'index_not_found_exception') return undefined
    throw error
  }
}

async function closeSnapshot(
  client: Client,
  pit: string,
  { abort, timeoutMs }: OpenSearchOptions,
): Promise<void> {
  const signal = AbortSignal.any([abort, AbortSignal.timeout(timeoutMs)])
  await abortable(client.deletePit({ body: { pit_id: [pit] } }), signal).catch(() => undefined)
}

const toHit = (found: FoundHit): SourceHit => {
  const { _id: id, _index: index, _source: source, sort } = found
  const [time] = sort
  return { id, index, source, time: typeof time === 'number' ? time : null }
}

function createClients(options: OpenSearchOptions) {
  let current: { readonly key: string; readonly client: Client } | undefined
  const files = [options.ca, options.credentials?.username, options.credentials?.password]
  return {
    get: async (): Promise<Client> => {
      const material = await Promise.all(files.map(async (file) => file?.read())).catch((error: unknown) => {
        throw new SourceError('failing', `a file for the indexer cannot be read: ${reasonOf(error)}`, error)
      })
      const key = JSON.stringify(material)
      if (current?.key === key) return current.client
      await current?.client.close()
      const [ca, username, password] = material
      const client = new Client({
        node: options.url.href.replace(/\/$/, ''),
        maxRetries: 0,
        requestTimeout: options.timeoutMs,
        ...(ca === undefined ? {} : { ssl: { ca } }),
        ...(username === undefined || password === undefined ? {} : { auth: { username, password } }),
      })
      current = { key, client }
      return client
    },
    forget: () => {
      for (const file of files) file?.forget()
    },
    close: async () => {
      await current?.client.close()
    },
  }
}

type Abortable<T> = { then: Promise<T>['then']; abort: () => unknown }

async function abortable<T>(request: Abortable<T>, signal: AbortSignal): Promise<T> {
  const abort = () => {
    request.abort()
  }
  signal.addEventListener('abort', abort)
  try {
    return await request
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The whole text of a stream; undefined, and the stream is given up, beyond the largest page. */
async function readText(stream: Readable, signal: AbortSignal): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  const giveUp = () => stream.destroy(Object.assign(new Error('too slow'), { code: 'ETIMEDOUT' }))
  signal.addEventListener('abort', giveUp)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length
      // Leaving the loop destroys the stream.
      if (size > MAX_PAGE_BYTES) return undefined
      chunks.push(chunk)
    }
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const ErrorBody = v.object({ error: v.object({ type: v.string() }) })

function errorType(text: string | undefined): string | undefined {
  try {
    return errorTypeIn(JSON.parse(text ?? ''))
  } catch {
    return undefined
  }
}

function errorTypeIn(body: unknown): string | undefined {
  const result = v.safeParse(ErrorBody, body)
  return result.success ? result.output.error.type : undefined
}

const typeOf = (error: unknown): string | undefined =>
  error instanceof errors.ResponseError ? errorTypeIn(error.body) : undefined

function statusError(
  status: number,
  type: string | undefined,
  hasSnapshot: boolean,
  cause?: unknown,
): SourceError {
  if (status === 401 || status === 403)
    return new SourceError('unauthorized', `the indexer answered ${status}`, cause)
  if (status === 404 && hasSnapshot)
    return new SourceError('snapshot_gone', 'the snapshot of the indexer has ended', cause)
  const what = status === 429 || status >= 500 || type === undefined ? String(status) : `${status} ${type}`
  return new SourceError('failing', `the indexer answered ${what}`, cause)
}

function asSourceError(error: unknown, hasSnapshot: boolean): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof errors.ResponseError)
    return statusError(error.statusCode ?? 0, typeOf(error), hasSnapshot, error)
  const isWire = error instanceof errors.ConnectionError || error instanceof errors.TimeoutError
  if (isWire || isSystemError(error))
    return new SourceError('unreachable', `the indexer does not answer: ${reasonOf(error)}`, error)
  // Messages of parsers quote what they could not read.
  const name = error instanceof Error ? error.name : 'unknown'
  return new SourceError('failing', `the answer of the indexer cannot be used: ${name}`, error)
}

const isSystemError = (error: unknown): boolean =>
  error instanceof errors.RequestAbortedError ||
  (error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string')
