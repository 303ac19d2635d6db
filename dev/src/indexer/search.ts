import { randomUUID } from 'node:crypto'
import { IndexerError, parsingError } from './errors.ts'
import { compileQuery } from './query.ts'
import { behind, parseSort, rank } from './sort.ts'
import type { Ranked } from './sort.ts'
import type { Document, Store } from './store.ts'
import { isObject, without } from './values.ts'
import type { Json, JsonObject } from './values.ts'

const MAX_WINDOW = 10_000
const SHARDS = { total: 1, successful: 1, skipped: 0, failed: 0 }
const KEYS = new Set([
  'query',
  'sort',
  'size',
  'from',
  'search_after',
  'pit',
  'track_total_hits',
  '_source',
  'timeout',
])

type Snapshot = {
  readonly documents: readonly Document[]
  expiresAt: number
  /** The answer to the last query and sort, so that reading page after page ranks once. */
  ranked: { readonly key: string; readonly list: readonly Ranked[] } | undefined
}

/** Points in time of one tenant. Each is a copy of the list of documents, which themselves never change. */
export function createSearch(store: Store) {
  const snapshots = new Map<string, Snapshot>()

  const sweep = () => {
    for (const [id, snapshot] of snapshots) if (snapshot.expiresAt <= Date.now()) snapshots.delete(id)
  }

  return {
    openPoint: (pattern: string, keepAlive: string | null) => {
      sweep()
      const id = randomUUID()
      const expiresAt = Date.now() + parseKeepAlive(keepAlive)
      snapshots.set(id, { documents: documentsOf(store, pattern), expiresAt, ranked: undefined })
      return { pit_id: id, _shards: SHARDS, creation_time: Date.now() }
    },
    closePoints: (body: Json) => {
      const ids = isObject(body) ? body['pit_id'] : undefined
      const list: unknown = typeof ids === 'string' ? [ids] : ids
      if (!isTexts(list)) throw parsingError('[pit_id] must be a list of texts')
      return {
        pits: list.map((id) => ({ pit_id: id, successful: snapshots.delete(id) })),
      }
    },
    search: (pattern: string | undefined, body: JsonObject) => {
      const unknown = Object.keys(body).find((key) => !KEYS.has(key))
      if (unknown !== undefined) throw parsingError(`Unknown key for a search request: [${unknown}]`)
      sweep()
      const snapshot = snapshotOf(snapshots, body['pit'], pattern)
      const result = page(body, snapshot ?? { documents: documentsOf(store, pattern), ranked: undefined })
      return {
        ...(snapshot === undefined ? {} : { pit_id: (body['pit'] as JsonObject)['id'] }),
        took: 0,
        timed_out: false,
        _shards: SHARDS,
        hits: result,
      }
    },
    count: (pattern: string | undefined, body: JsonObject) => {
      const matches = compileQuery(body['query'])
      return { count: documentsOf(store, pattern).filter(matches).length, _shards: SHARDS }
    },
  }
}

function documentsOf(store: Store, pattern: string | undefined): Document[] {
  const documents = store.find(pattern)
  if (documents.length === 0 && pattern !== undefined && !/[*,]|^_all$/.test(pattern))
    throw new IndexerError(404, 'index_not_found_exception', `no such index [${pattern}]`)
  return documents
}

function snapshotOf(
  snapshots: Map<string, Snapshot>,
  pit: Json | undefined,
  pattern: string | undefined,
): Snapshot | undefined {
  if (pit === undefined) return undefined
  if (pattern !== undefined)
    throw new IndexerError(
      400,
      'action_request_validation_exception',
      '[indices] cannot be used with point in time',
    )
  const { id, keep_alive: keepAlive } = isObject(pit) ? pit : {}
  const snapshot = typeof id === 'string' ? snapshots.get(id) : undefined
  if (snapshot === undefined)
    throw new IndexerError(404, 'search_context_missing_exception', 'no such point in time')
  if (typeof keepAlive === 'string') snapshot.expiresAt = Date.now() + parseKeepAlive(keepAlive)
  return snapshot
}

function page(body: JsonObject, scope: Pick<Snapshot, 'documents' | 'ranked'>) {
  const size = wholeNumber(body['size'] ?? 10, 'size')
  const from = wholeNumber(body['from'] ?? 0, 'from')
  if (size + from > MAX_WINDOW)
    throw new IndexerError(
      400,
      'illegal_argument_exception',
      `Result window is too large, from + size must be less than or equal to: [${MAX_WINDOW}]`,
    )
  const keys = parseSort(body['sort'])
  const key = JSON.stringify([body['query'] ?? null, body['sort'] ?? null])
  if (scope.ranked?.key !== key)
    scope.ranked = { key, list: rank(scope.documents.filter(compileQuery(body['query'])), keys) }
  const { list } = scope.ranked
  const after = body['search_after']
  const rest = after === undefined ? list.slice(from) : behind(list, keys, after)
  const show = sourceFilter(body['_source'])
  return {
    ...(body['track_total_hits'] === false ? {} : { total: { value: list.length, relation: 'eq' } }),
    max_score: null,
    hits: rest.slice(0, size).map(({ document, values }) => ({
      _index: document.index,
      _id: document.id,
      _score: null,
      ...show(document.source),
      ...(keys.length === 0 ? {} : { sort: values }),
    })),
  }
}

function sourceFilter(wanted: Json | undefined): (source: JsonObject) => { _source?: JsonObject } {
  if (wanted === undefined || wanted === true) return (source) => ({ _source: source })
  if (wanted === false) return () => ({})
  const { excludes, ...rest } = isObject(wanted) ? wanted : { unsupported: true }
  if (!isTexts(excludes) || Object.keys(rest).length > 0)
    throw parsingError('[_source] this stand-in knows true, false and {excludes: [...]} only')
  return (source) => ({ _source: without(source, excludes) })
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((member) => typeof member === 'string')

function wholeNumber(value: Json, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw parsingError(`[${name}] must be a whole number, not negative`)
  return value
}

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseKeepAlive(text: string | null): number {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text ?? '') ?? []
  const factor = UNITS[unit ?? '']
  if (factor === undefined)
    throw new IndexerError(400, 'illegal_argument_exception', `failed to parse [keep_alive] [${text}]`)
  return Number(amount) * factor
}
