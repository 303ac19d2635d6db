import * as v from 'valibot'

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/
const UNSTORABLE = new RegExp(`\\u0000|${LONE_SURROGATE.source}`)
const UNSTORABLE_ALL = new RegExp(UNSTORABLE.source, 'g')

const codePoints = (value: string): number => {
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** Bounds in Unicode code points (decision 1.8); the metadata carries them into JSON Schema. */
const bounded = (min: number, max: number) => {
  const within = (value: string) =>
    value.length >= min && (value.length <= max || codePoints(value) <= max) && codePoints(value) >= min
  const message = min === 0 ? `must be at most ${max} characters` : `must be ${min} to ${max} characters`
  return v.check<string, string>(within, message)
}

/** Whether the database can hold a text: no NUL, no unpaired surrogates. */
export const isStorable = (value: string): boolean => !UNSTORABLE.test(value)

const storable = v.check<string, string>(isStorable, 'must not contain NUL or unpaired surrogates')

/** A text of a request body or query: NUL and lone surrogates are refused (decision 1.8). */
export const text = (min: number, max: number) =>
  v.pipe(v.string(), storable, bounded(min, max), v.metadata({ minLength: min, maxLength: max }))

/** A text of an event: NUL and lone surrogates become U+FFFD (decision 1.8). */
export const eventText = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.metadata({ minLength: min, maxLength: max }),
    v.transform((value) => value.replace(UNSTORABLE_ALL, '\uFFFD')),
    bounded(min, max),
  )

export const uuid = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'must be a lower-case UUID'),
  v.metadata({ format: 'uuid' }),
)

const RFC3339 =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})$/i
/** A moment that exists, also in the calendar, and that every store can hold: the years 1 to 9999 in UTC. */
function isMoment(value: string): boolean {
  const [year = 0, month = 0, day = 0] = value.slice(0, 10).split('-').map(Number)
  const inUtc = new Date(value).getUTCFullYear()
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate() && inUtc >= 1 && inUtc <= 9999
}

/** RFC 3339; offsets like `+0000` are accepted, as Wazuh writes them (decision 5.3). */
export const dateTime = v.pipe(
  v.string(),
  v.regex(RFC3339, 'must be an RFC 3339 date-time'),
  v.check(isMoment, 'must be an existing date-time'),
  v.metadata({ format: 'date-time' }),
)

/** A moment of a query: RFC 3339, or a bare date that means its start in UTC (decision 1.5). Read as milliseconds. */
export const instant = v.pipe(
  v.string(),
  v.check(
    (value) => (RFC3339.test(value) || /^\d{4}-\d{2}-\d{2}$/.test(value)) && isMoment(value),
    'must be an RFC 3339 date-time or a date',
  ),
  v.metadata({ anyOf: [{ format: 'date-time' }, { format: 'date' }] }),
  v.transform((value) => new Date(value)),
)

/** A date-time of a response: UTC, milliseconds, `Z` (decision 1.1). */
export const timestamp = v.pipe(v.string(), v.isoTimestamp(), v.metadata({ format: 'date-time' }))

export const email = v.pipe(
  text(3, 320),
  v.regex(/^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\]+\.[^\s@"(),:;<>[\]\\.]+$/, 'must be an e-mail address'),
)

/** An http(s) address without credentials; the empty string means none. */
export const httpUrl = (max: number) =>
  v.pipe(
    text(0, max),
    v.check(isHttpUrl, 'must be an http or https address without credentials'),
    v.metadata({ anyOf: [{ const: '' }, { format: 'uri', pattern: '^https?:' }] }),
  )

function isHttpUrl(value: string): boolean {
  if (value === '') return true
  if (!URL.canParse(value)) return false
  const url = new URL(value)
  return (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === ''
}

export const integer = (min: number, max: number) =>
  v.pipe(
    v.number('must be a number'),
    v.integer('must be a whole number'),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  )
