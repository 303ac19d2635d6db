import * as v from 'valibot'

/** One CEL rule of a CustomResourceDefinition; `message` is what a refused writer reads. */
export type Rule = { readonly rule: string; readonly message: string }

/** What a schema says to the API server and valibot has no word for. */
export type KubernetesMetadata = {
  /** Length in code points, as the API server counts; valibot's own `maxLength` counts UTF-16 units. */
  readonly maxLength?: number
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly rules?: readonly Rule[]
}

const kubernetes = <T>(
  extensions: KubernetesMetadata,
): v.MetadataAction<T, { kubernetes: KubernetesMetadata }> => v.metadata({ kubernetes: extensions })

/** The list is a map: entries are unique by these keys and are merged one by one. */
export const listMap = <T>(...keys: string[]) => kubernetes<T>({ listType: 'map', listMapKeys: keys })

/** The list is one value: who writes it writes all of it. */
export const atomicList = <T>() => kubernetes<T>({ listType: 'atomic' })

/** CEL rules that the API server holds at this place of the schema; valibot does not know them. */
export const rules = <T>(...list: Rule[]) => kubernetes<T>({ rules: list })

const maxCodePoints = <T>(max: number) => kubernetes<T>({ maxLength: max })

const codePoints = (value: string): number => Array.from(value).length

/** A described text of at most `max` code points. */
export const text = (max: number, description: string) =>
  v.pipe(
    v.string(),
    v.check((value) => value.length <= max || codePoints(value) <= max, `must be at most ${max} characters`),
    maxCodePoints(max),
    v.description(description),
  )

/** The same, of the form that `pattern` says. */
export const matching = (pattern: RegExp, max: number, description: string) =>
  v.pipe(text(max, description), v.regex(pattern))

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
export const uuid = (description: string) => matching(UUID, 36, description)

// Whoever accepts addresses refuses user names and passwords in them; here nothing else is asked of an address, so
// that one definition of "valid" is enough. What follows the authority may hold an @.
const WITHOUT_CREDENTIALS = /^([^@]*|[^:@]*:[/\\]*(:?@)?[^@/\\?#]+([/\\?#][\s\S]*)?)$/

/** An address that cannot carry a user name or password; empty for none. */
export const address = (description: string) => matching(WITHOUT_CREDENTIALS, 500, description)

/** RFC 3339; the longest form has nine digits of seconds and an offset. */
export const time = (description: string) =>
  v.pipe(v.string(), v.isoTimestamp(), maxCodePoints(35), v.description(description))

/** A whole number, `min` at least and at most what a double holds exactly. */
export const integer = (min: number, max: number, description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max), v.description(description))

export const flag = (description: string) => v.pipe(v.boolean(), v.description(description))
