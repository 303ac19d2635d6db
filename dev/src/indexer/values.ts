export type Scalar = boolean | number | string
export type Json = null | Scalar | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields that the mapping of Wazuh's indices declares as dates. */
const DATE_FIELDS: ReadonlySet<string> = new Set(['timestamp', '@timestamp'])
export const isDateField = (field: string): boolean => DATE_FIELDS.has(field)

const DATE = /^\d{4}(-\d{2}(-\d{2}(T\d{2}(:\d{2}(:\d{2}([.,]\d{1,9})?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?)?)?$/

/** `date_optional_time||epoch_millis` as Wazuh maps it: milliseconds, or undefined. Without an offset it is UTC. */
export function parseDate(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.trunc(value) : undefined
  if (typeof value !== 'string') return undefined
  if (/^-?\d{5,}$/.test(value)) return Number(value)
  if (!DATE.test(value)) return undefined
  const [day = '', time] = value.split('T')
  const date = day + '-01-01'.slice(day.length === 4 ? 0 : day.length === 7 ? 3 : 6)
  const millis = Date.parse(time === undefined ? `${date}T00:00:00Z` : `${date}T${fullTime(time)}`)
  return Number.isNaN(millis) ? undefined : millis
}

function fullTime(time: string): string {
  const [, clock = '', offset = 'Z'] = /^([\d:.,]+)(.*)$/.exec(time) ?? []
  const parts = clock.replace(',', '.').split(':')
  const padded = [parts[0] ?? '00', parts[1] ?? '00', parts[2] ?? '00'].join(':')
  const digits = offset.replace(':', '')
  const zone = digits === '' || digits === 'Z' ? 'Z' : `${digits.slice(0, 3)}:${digits.slice(3) || '00'}`
  return padded + zone
}

/** All scalars that stand at a dotted path, through arrays and also under keys that hold dots themselves. */
export function scalarsAt(source: Json, path: string): Scalar[] {
  if (Array.isArray(source)) return source.flatMap((member: Json) => scalarsAt(member, path))
  if (path === '') return source === null || typeof source === 'object' ? [] : [source]
  if (!isObject(source)) return []
  const found: Scalar[] = []
  for (const [key, member] of Object.entries(source)) {
    if (key === path) found.push(...scalarsAt(member, ''))
    else if (path.startsWith(`${key}.`)) found.push(...scalarsAt(member, path.slice(key.length + 1)))
  }
  return found
}

/** The document without what stands at the given dotted paths. */
export function without(source: JsonObject, paths: readonly string[]): JsonObject {
  const kept = Object.entries(source).flatMap(([key, member]): [string, Json][] => {
    if (paths.includes(key)) return []
    const inner = paths.filter((path) => path.startsWith(`${key}.`)).map((path) => path.slice(key.length + 1))
    return [[key, inner.length > 0 && isObject(member) ? without(member, inner) : member]]
  })
  return Object.fromEntries(kept)
}
