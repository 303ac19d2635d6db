import { SLUG } from '@service/domain'
import { bulk } from './bulk.ts'
import { IndexerError, parsingError } from './errors.ts'
import type { Answer } from './errors.ts'
import { createSearch } from './search.ts'
import type { openStores, Store } from './store.ts'
import { isObject } from './values.ts'
import type { Json, JsonObject } from './values.ts'

const INFO = {
  name: 'indexer-stand-in',
  cluster_name: 'service-development',
  cluster_uuid: 'stand-in',
  version: {
    distribution: 'opensearch',
    number: '2.19.0',
    build_type: 'stand-in',
    minimum_wire_compatibility_version: '7.10.0',
    minimum_index_compatibility_version: '7.0.0',
  },
  tagline: 'A stand-in for OpenSearch, for development',
}

type Tenant = { readonly store: Store; readonly search: ReturnType<typeof createSearch> }
type Call = {
  readonly tenant: Tenant
  readonly index: string | undefined
  readonly query: URLSearchParams
  readonly body: string
}

/** `/{slug}/{operation}` and `/{slug}/{index}/{operation}`; what this stand-in does not know is refused by name. */
export function createRoutes(storeOf: Awaited<ReturnType<typeof openStores>>) {
  const tenants = new Map<string, Tenant>()
  const tenantOf = (slug: string): Tenant => {
    const known = tenants.get(slug)
    if (known !== undefined) return known
    const store = storeOf(slug)
    const tenant = { store, search: createSearch(store) }
    tenants.set(slug, tenant)
    return tenant
  }

  return async (method: string, url: URL, body: string): Promise<Answer> => {
    const [slug, ...path] = url.pathname.split('/').filter(Boolean).map(decode)
    const reading = method === 'HEAD' ? 'GET' : method
    if (slug === undefined && reading === 'GET') return { status: 200, body: INFO }
    if (slug === undefined || !SLUG.test(slug)) throw unknownPath(method, url)
    const tenant = tenantOf(slug)
    if (path.length === 0 && reading === 'GET') return { status: 200, body: INFO }
    const index = path[0]?.startsWith('_') === false ? path[0] : undefined
    const operation = path.slice(index === undefined ? 0 : 1).join('/')
    const handler = OPERATIONS[`${reading} ${operation}`]
    if (handler === undefined) throw unknownPath(method, url)
    return { status: 200, body: await handler({ tenant, index, query: url.searchParams, body }) }
  }
}

const OPERATIONS: {
  readonly [operation: string]: ((call: Call) => object | string | Promise<object>) | undefined
} = {
  'POST _bulk': ({ tenant, index, body }) => bulk(tenant.store, body, index),
  'PUT _bulk': ({ tenant, index, body }) => bulk(tenant.store, body, index),
  'POST _search': search,
  'GET _search': search,
  'POST _search/point_in_time': ({ tenant, index, query }) => {
    if (index === undefined) throw parsingError('a point in time needs an index')
    return tenant.search.openPoint(index, query.get('keep_alive'))
  },
  'DELETE _search/point_in_time': ({ tenant, body }) => tenant.search.closePoints(parseBody(body)),
  'POST _count': count,
  'GET _count': count,
  'POST _refresh': () => ({ _shards: { total: 1, successful: 1, failed: 0 } }),
  'GET _refresh': () => ({ _shards: { total: 1, successful: 1, failed: 0 } }),
  'GET _cat/indices': ({ tenant, query }) => listIndices(tenant, query),
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new IndexerError(400, 'illegal_argument_exception', 'the path is not valid percent-encoding')
  }
}

const unknownPath = (method: string, url: URL) =>
  new IndexerError(
    400,
    'illegal_argument_exception',
    `no handler found for uri [${url.pathname}] and method [${method}]`,
  )

function search({ tenant, index, query, body }: Call): object {
  const fromUrl: Record<string, Json> = {}
  for (const [key, value] of query) {
    if (key === 'size' || key === 'from') fromUrl[key] = Number(value)
    else if (key === 'track_total_hits') fromUrl[key] = value !== 'false'
    else if (!IGNORED.has(key)) throw parsingError(`the query parameter [${key}] is not supported here`)
  }
  return tenant.search.search(index, { ...parseBody(body), ...fromUrl })
}

/** They change nothing where there is one shard that is always there. */
const IGNORED = new Set([
  'allow_no_indices',
  'ignore_unavailable',
  'expand_wildcards',
  'allow_partial_search_results',
  'preference',
  'filter_path',
])

function count({ tenant, index, body }: Call): object {
  return tenant.search.count(index, parseBody(body))
}

function listIndices(tenant: Tenant, query: URLSearchParams): object | string {
  const rows = [...tenant.store.indices()]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([index, documents]) => ({
      health: 'green',
      status: 'open',
      index,
      'docs.count': String(documents),
    }))
  if (query.get('format') === 'json') return rows
  return rows.map((row) => `${Object.values(row).join(' ')}\n`).join('')
}

function parseBody(body: string): JsonObject {
  if (body.trim() === '') return {}
  let parsed: Json
  try {
    parsed = JSON.parse(body) as Json
  } catch {
    throw new IndexerError(400, 'parse_exception', 'the body is not JSON')
  }
  if (!isObject(parsed)) throw parsingError('Expected [START_OBJECT] at the beginning of the body')
  return parsed
}
