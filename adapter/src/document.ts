/** Reading a document that anybody may have written: own keys only, any value may stand anywhere. */

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What stands at a dotted path of own keys, or undefined. */
export function valueAt(document: unknown, path: string): unknown {
  let value = document
  for (const key of path.split('.')) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** A text or a number at a path, as a text that is not empty. */
export function textAt(document: unknown, path: string): string | undefined {
  const value = valueAt(document, path)
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** One text or a list of texts at a path; at most `max`, everything else is left out. */
export function textsAt(document: unknown, path: string, max: number): string[] {
  const value = valueAt(document, path)
  if (!Array.isArray(value)) return [textAt(document, path)].filter((text) => text !== undefined)
  const texts: string[] = []
  for (const member of value as unknown[]) {
    if (texts.length >= max) break
    if (typeof member === 'string' && member.trim() !== '') texts.push(member)
  }
  return texts
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?(?:(Z)|([+-]\d{2}):?(\d{2})?)?$/i

/** A moment at a path in RFC 3339 UTC; offsets are read with and without a colon, a missing one is UTC. */
export function momentAt(document: unknown, path: string): string | null {
  const value = valueAt(document, path)
  if (typeof value === 'number') return toMoment(value)
  const parts = typeof value === 'string' && value.length <= 64 ? MOMENT.exec(value) : null
  if (parts === null) return null
  const [, day = '', clock = '', fraction = '0', , hours, minutes = '00'] = parts
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`
  return toMoment(Date.parse(`${day}T${clock}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`))
}

function toMoment(millis: number): string | null {
  const date = new Date(millis)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9_999 ? date.toISOString() : null
}
