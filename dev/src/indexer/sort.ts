import { parsingError } from './errors.ts'
import type { Document } from './store.ts'
import { isDateField, isObject, parseDate, scalarsAt } from './values.ts'
import type { Json } from './values.ts'

/** What OpenSearch answers as the sort value of a missing date or number, as far as a double can hold it. */
const MISSING_NUMBER = 2 ** 63
export type SortValue = number | string | null
type Key = { readonly field: string; readonly descending: boolean; readonly missingFirst: boolean }

/** A sorted list of documents with the values by which it is sorted. */
export type Ranked = { readonly document: Document; readonly values: readonly SortValue[] }

/** Reads the `sort` of a search; without one, documents come in the order of their arrival and `keys` is empty. */
export function parseSort(sort: Json | undefined): readonly Key[] {
  if (sort === undefined) return []
  return (Array.isArray(sort) ? (sort as Json[]) : [sort]).flatMap((entry) => {
    if (typeof entry === 'string') return [keyOf(entry, {})]
    if (!isObject(entry)) throw parsingError('[sort] must hold field names or objects')
    return Object.entries(entry).map(([field, options]) => keyOf(field, options))
  })
}

const OPTIONS = new Set(['order', 'missing', 'unmapped_type', 'format'])

function keyOf(field: string, options: Json): Key {
  const given = typeof options === 'string' ? { order: options } : options
  if (!isObject(given)) throw parsingError(`[sort] malformed for [${field}]`)
  const { order = 'asc', missing = '_last' } = given
  const unknown = Object.keys(given).find((key) => !OPTIONS.has(key))
  if (unknown !== undefined) throw parsingError(`[field_sort] unknown field [${unknown}]`)
  if (given['format'] !== undefined && given['format'] !== 'epoch_millis')
    throw parsingError(`[field_sort] format [${JSON.stringify(given['format'])}] is not supported here`)
  if (order !== 'asc' && order !== 'desc')
    throw parsingError(`[sort] unknown order [${JSON.stringify(order)}]`)
  if (missing !== '_last' && missing !== '_first')
    throw parsingError('[sort] this stand-in knows only _last and _first for [missing]')
  return { field, descending: order === 'desc', missingFirst: missing === '_first' }
}

export function rank(documents: readonly Document[], keys: readonly Key[]): Ranked[] {
  const ranked = documents.map((document) => ({
    document,
    values: keys.map((key) => sortValue(document, key)),
  }))
  return ranked.toSorted(
    (left, right) => compareValues(left.values, right.values, keys) || left.document.seq - right.document.seq,
  )
}

function sortValue(document: Document, { field, descending, missingFirst }: Key): SortValue {
  if (field === '_doc') return document.seq
  if (field === '_id') return document.id
  if (isDateField(field)) {
    if (document.time !== null && field === 'timestamp') return document.time
    const dates = scalarsAt(document.source, field).flatMap((value) => parseDate(value) ?? [])
    return dates[0] ?? (descending === missingFirst ? MISSING_NUMBER : -MISSING_NUMBER)
  }
  const [value] = scalarsAt(document.source, field)
  return typeof value === 'number' ? value : value === undefined ? null : String(value)
}

function compareValues(
  left: readonly SortValue[],
  right: readonly SortValue[],
  keys: readonly Key[],
): number {
  for (const [index, key] of keys.entries()) {
    const order = compareOne(left[index] ?? null, right[index] ?? null, key)
    if (order !== 0) return order
  }
  return 0
}

function compareOne(left: SortValue, right: SortValue, key: Key): number {
  if (left === right) return 0
  if (left === null) return key.missingFirst ? -1 : 1
  if (right === null) return key.missingFirst ? 1 : -1
  const order = left < right ? -1 : 1
  return key.descending ? -order : order
}

/** What stands strictly behind `after`; `after` must have one value for each key. */
export function behind(ranked: readonly Ranked[], keys: readonly Key[], after: Json): readonly Ranked[] {
  if (!Array.isArray(after) || after.length !== keys.length)
    throw parsingError(`search_after has to have ${keys.length} values, as many as the sort`)
  const limit = (after as Json[]).map((value, index) => afterValue(value, keys[index]?.field ?? ''))
  let low = 0
  let high = ranked.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = ranked[middle]
    if (entry !== undefined && compareValues(entry.values, limit, keys) <= 0) low = middle + 1
    else high = middle
  }
  return ranked.slice(low)
}

function afterValue(value: Json, field: string): SortValue {
  if (value === null || typeof value === 'number') return value
  if (typeof value !== 'string') throw parsingError(`search_after cannot hold [${JSON.stringify(value)}]`)
  if (!isDateField(field)) return value
  const date = parseDate(value)
  if (date === undefined) throw parsingError(`failed to parse date field [${value}] in search_after`)
  return date
}
