import { Client, errors } from '@opensearch-project/opensearch'
import * as v from 'valibot'
import { reasonOf } from './api.ts'
import type { RotatingFile } from './files.ts'
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
type SortValues = v.InferOutput<typeof Page>['hits']['hits'][number]['sort']

/** Reads a tenant's indices in OpenSearch, with files of credentials and CA that may change at any time. */
export function createOpenSearchSource(options: OpenSearchOptions): EventSource {
  const clients = createClients(options)

  async function* pages(client: Client, pit: string, from: Date | null, pageSize: number) {
    let after: SortValues | undefined
    let size = pageSize
    for (;;) {
      const found = await search(client, pit, from, size, after).catch((error: unknown) => {
        if (size === 1 || !isTooLarge(error)) throw error
        return undefined
      })
      if (found === undefined) {
        size = Math.ceil(size / 2)
        continue
      }
      if (found.length > 0) yield found.map(toHit)
      after = found.at(-1)?.sort
      if (found.length < size) return
    }
  }

  const search = async (client: Client, pit: string, from: Date | null, size: number, after?: SortValues) => {
    const millis = from?.getTime()
    const request = client.search({
      allow_partial_search_results: false,
      body: {
        pit: { id: pit, keep_alive: KEEP_ALIVE },
        query:
          millis === undefined
            ? { exists: { field: 'timestamp' } }
            : { range: { timestamp: { gte: millis, format: 'epoch_millis' } } },
        size,
        sort: SORT,
        track_total_hits: false,
        _source: { excludes: EXCLUDED },
        // The client's types know no null, which stands for a missing id.
        ...(after === undefined ? {} : { search_after: after as string[] }),
      },
    })
    const { body } = await abortable(request, options.abort)
    const page = v.parse(Page, body)
    const { timed_out: timedOut, _shards: shards } = page
    if (timedOut || shards.failed > 0) throw new SourceError('failing', 'the indexer answered in part only')
    return page.hits.hits
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
        if (pit !== undefined) await client.deletePit({ body: { pit_id: [pit] } }).catch(() => undefined)
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
    const { body } = await abortable(request, options.abort)
    return body.pit_id
  } catch (error) {
    // A new tenant has no index of alerts yet.
    if (typeOf(error) === 'index_not_found_exception') return undefined
    throw error
  }
}

const toHit = (found: v.InferOutput<typeof Page>['hits']['hits'][number]): SourceHit => {
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
        // An alert may hold any keys; they are only ever read as own keys.
        disablePrototypePoisoningProtection: true,
        memoryCircuitBreaker: { enabled: true, maxPercentage: 0.75 },
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

const isTooLarge = (error: unknown): boolean =>
  error instanceof errors.RequestAbortedError && error.message.includes('content length')

const statusOf = (error: unknown): number | undefined =>
  error instanceof errors.ResponseError ? error.statusCode : undefined

function typeOf(error: unknown): string | undefined {
  const Body = v.object({ error: v.object({ type: v.string() }) })
  const result = v.safeParse(Body, error instanceof errors.ResponseError ? error.body : undefined)
  return result.success ? result.output.error.type : undefined
}

function asSourceError(error: unknown, hasSnapshot: boolean): SourceError {
  if (error instanceof SourceError) return error
  const status = statusOf(error)
  if (status === 401 || status === 403)
    return new SourceError('unauthorized', `the indexer answered ${status}`, error)
  if (status === 404 && hasSnapshot)
    return new SourceError('snapshot_gone', 'the snapshot of the indexer has ended', error)
  if (status === 429 || (status !== undefined && status >= 500))
    return new SourceError('failing', `the indexer answered ${status}`, error)
  if (status !== undefined)
    return new SourceError('failing', `the indexer refused the query: ${typeOf(error) ?? status}`, error)
  if (error instanceof errors.ConnectionError || error instanceof errors.TimeoutError)
    return new SourceError('unreachable', `the indexer does not answer: ${error.message}`, error)
  // Messages of parsers quote what they could not read.
  const name = error instanceof Error ? error.name : 'unknown'
  return new SourceError('failing', `the answer of the indexer cannot be used: ${name}`, error)
}
