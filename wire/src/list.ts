import { PAGE } from '@service/domain'
import * as v from 'valibot'
import { text } from './text.ts'

const flag = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.metadata({ type: 'boolean', enum: undefined }),
  v.transform((value) => value === 'true'),
)

/** A boolean of a query string; absent means false. */
export const queryFlag = v.optional(flag, 'false')

/** A boolean of a query string; absent means either. */
export const queryChoice = v.optional(flag)

/** A key that may stand several times in a query string (decision 1.5); one value makes a list of one. */
export const repeatable = <const S extends v.GenericSchema<string>>(item: S) =>
  v.optional(
    v.pipe(
      v.union([v.string(), v.array(v.string())]),
      v.transform((value) => (typeof value === 'string' ? [value] : value)),
      v.array(item),
    ),
  )

/** `?limit=&cursor=&total=` of every list (decision 1.5). */
export const pageQuery = {
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,3}$/, `must be a whole number from 1 to ${PAGE.max}`),
      v.metadata({ type: 'integer', minimum: 1, maximum: PAGE.max, pattern: undefined }),
      v.transform(Number),
      v.check((value) => value >= 1 && value <= PAGE.max, `must be a whole number from 1 to ${PAGE.max}`),
    ),
    String(PAGE.default),
  ),
  cursor: v.optional(text(1, 1024)),
  total: queryFlag,
}

/** `{items, next_cursor}`, with `total` only when it was asked for. */
export const page = <const S extends v.GenericSchema>(item: S) =>
  v.object({
    items: v.array(item),
    next_cursor: v.nullable(v.string()),
    total: v.optional(v.number()),
  })
