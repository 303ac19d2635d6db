import { ROUTES, type Route, type RouteId } from '@service/wire'
import type { AnyHandler, Handler, Handlers, Matched } from './types.ts'

type Entry = Omit<Matched, 'params'> & { readonly pattern: RegExp }
/** Entries by path template, literal paths before templates with parameters. */
export type RouteTable = readonly { readonly pattern: RegExp; readonly entries: readonly Entry[] }[]

export type Match =
  | { readonly kind: 'found'; readonly matched: Matched }
  | { readonly kind: 'unknown_path' }
  | { readonly kind: 'unknown_method'; readonly allow: readonly string[] }

/** Joins every row with its handler; rows that the auth mode does not have are left out (S "Authentication routes"). */
export function createRouteTable(handlers: Handlers, authMode: 'internal' | 'proxy'): RouteTable {
  const ids = Object.keys(ROUTES) as RouteId[]
  const entries = ids
    .filter((id) => authMode === 'internal' || (ROUTES[id] as Route).internalModeOnly !== true)
    .flatMap((id) => route(id, handlers[id]))
  const patterns = Map.groupBy(entries, (entry) => entry.pattern.source)
  return [...patterns.values()]
    .map((group) => ({ pattern: new RegExp(group[0]?.pattern.source ?? ''), entries: group }))
    .toSorted((a, b) => parameterCount(a.pattern) - parameterCount(b.pattern))
}

/** Registers one row. Health answers under both of its names (decision 1.11). */
function route<Id extends RouteId>(id: Id, handler: Handler<Id>): Entry[] {
  const row: Route = ROUTES[id]
  const paths = row.path.startsWith('/health/') ? [row.path, `/api${row.path}`] : [row.path]
  return paths.map((path) => ({
    id,
    route: row,
    // The pipeline hands over only what this row's schemas and access have proven.
    handler: handler as unknown as AnyHandler,
    pattern: compile(path),
  }))
}

/** `{id}` stands for one segment up to a colon, so that `{id}` and `{id}:retry` are two paths (decision 1.10). */
function compile(path: string): RegExp {
  const source = path
    .split(/(\{[a-z_]+\})/)
    .map((part) => (part.startsWith('{') ? `(?<${part.slice(1, -1)}>[^/:]+)` : escaped(part)))
  return new RegExp(`^${source.join('')}$`)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

const parameterCount = (pattern: RegExp): number => pattern.source.split('(?<').length - 1

/** The row behind a request line; HEAD is answered as GET. */
export function matchRoute(table: RouteTable, method: string, path: string): Match {
  const asked = method === 'HEAD' ? 'GET' : method
  for (const { pattern, entries } of table) {
    const found = pattern.exec(path)
    if (found === null) continue
    const entry = entries.find((candidate) => candidate.route.method === asked)
    if (entry === undefined) return { kind: 'unknown_method', allow: allowed(entries) }
    const { id, route, handler } = entry
    return { kind: 'found', matched: { id, route, handler, params: decoded(found.groups ?? {}) } }
  }
  return { kind: 'unknown_path' }
}

function allowed(entries: readonly Entry[]): string[] {
  const methods = entries.map((entry) => entry.route.method as string)
  return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).toSorted()
}

/** A segment that is not valid percent-encoding stays as it is: its schema refuses it. */
function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  const decode = (segment: string): string => {
    try {
      return decodeURIComponent(segment)
    } catch {
      return segment
    }
  }
  return Object.fromEntries(Object.entries(groups).map(([name, segment]) => [name, decode(segment)]))
}
