import { parsingError } from './errors.ts'
import type { Document } from './store.ts'
import { isDateField, isObject, parseDate, scalarsAt } from './values.ts'
import type { Json, JsonObject, Scalar } from './values.ts'

export type Predicate = (document: Document) => boolean

/** Compiles the part of the query language that the adapter and the tests use; anything else is refused by name. */
export function compileQuery(query: Json | undefined): Predicate {
  if (query === undefined) return () => true
  const [name, body] = only(query, 'query')
  const compile = QUERIES[name]
  if (compile === undefined) throw parsingError(`unknown query [${name}]: this stand-in does not support it`)
  return compile(body)
}

const QUERIES: { readonly [name: string]: ((body: Json) => Predicate) | undefined } = {
  match_all: () => () => true,
  bool: compileBool,
  range: compileRange,
  term: compileTerm,
  terms: compileTerms,
  exists: compileExists,
}

function only(value: Json, what: string): [string, Json] {
  const entries = isObject(value) ? Object.entries(value) : []
  const [entry] = entries
  if (entry === undefined || entries.length > 1)
    throw parsingError(`[${what}] must be an object with exactly one key`)
  return entry
}

function compileBool(body: Json): Predicate {
  if (!isObject(body)) throw parsingError('[bool] query malformed, no start_object after query name')
  const clauses = (value: Json | undefined): Predicate[] =>
    value === undefined ? [] : (Array.isArray(value) ? (value as Json[]) : [value]).map(compileQuery)
  const { must, filter, should, must_not: mustNot, minimum_should_match: minimum, ...rest } = body
  refuseRest('bool', rest)
  const needed = [...clauses(must), ...clauses(filter)]
  const optional = clauses(should)
  const refused = clauses(mustNot)
  const least = typeof minimum === 'number' ? minimum : needed.length === 0 && optional.length > 0 ? 1 : 0
  return (document) =>
    needed.every((matches) => matches(document)) &&
    !refused.some((matches) => matches(document)) &&
    (least === 0 || optional.filter((matches) => matches(document)).length >= least)
}

const BOUNDS: { readonly [bound: string]: ((order: number) => boolean) | undefined } = {
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
}

function compileRange(body: Json): Predicate {
  const [field, limits] = only(body, 'range')
  if (!isObject(limits)) throw parsingError('[range] query malformed, no start_object after field name')
  const { format, ...bounds } = limits
  if (format !== undefined && format !== 'epoch_millis' && format !== 'strict_date_optional_time')
    throw parsingError(`[range] format [${JSON.stringify(format)}] is not supported by this stand-in`)
  const tests = Object.entries(bounds).map(([bound, limit]) => {
    const accepts = BOUNDS[bound]
    if (accepts === undefined) throw parsingError(`[range] query does not support [${bound}]`)
    const wanted = comparable(field, limit)
    if (wanted === undefined)
      throw parsingError(`failed to parse [${JSON.stringify(limit)}] as a limit of [${field}]`)
    return (value: number | string) => typeof value === typeof wanted && accepts(compare(value, wanted))
  })
  return (document) =>
    valuesOf(document, field).some((value) => {
      const known = comparable(field, value)
      return known !== undefined && tests.every((test) => test(known))
    })
}

function comparable(field: string, value: Json): number | string | undefined {
  if (isDateField(field)) return parseDate(value)
  return typeof value === 'number' || typeof value === 'string' ? value : undefined
}

const compare = (left: number | string, right: number | string): number =>
  left < right ? -1 : left > right ? 1 : 0

const valuesOf = (document: Document, field: string): readonly Scalar[] =>
  field === '_id' ? [document.id] : field === '_index' ? [document.index] : scalarsAt(document.source, field)

const sameTerm = (field: string, wanted: Json) => {
  if (wanted === null || typeof wanted === 'object') throw parsingError(`[term] needs a value for [${field}]`)
  const limit = isDateField(field) ? parseDate(wanted) : String(wanted)
  return (value: Scalar) => (isDateField(field) ? parseDate(value) : String(value)) === limit
}

function compileTerm(body: Json): Predicate {
  const [field, wanted] = only(body, 'term')
  const { value, ...rest } = isObject(wanted) ? wanted : { value: wanted }
  refuseRest('term', rest)
  const same = sameTerm(field, value ?? null)
  return (document) => valuesOf(document, field).some(same)
}

function compileTerms(body: Json): Predicate {
  const [field, wanted] = only(body, 'terms')
  if (!Array.isArray(wanted)) throw parsingError(`[terms] query requires an array for [${field}]`)
  const tests = (wanted as Json[]).map((value) => sameTerm(field, value))
  return (document) => valuesOf(document, field).some((value) => tests.some((same) => same(value)))
}

function compileExists(body: Json): Predicate {
  const field = isObject(body) ? body['field'] : undefined
  if (typeof field !== 'string') throw parsingError('[exists] must be provided with a [field]')
  return (document) => valuesOf(document, field).length > 0
}

function refuseRest(query: string, rest: JsonObject): void {
  const [key] = Object.keys(rest)
  if (key !== undefined) throw parsingError(`[${query}] query does not support [${key}]`)
}
