import { ServiceError } from '@service/domain'
import { uuid } from '@service/wire'
import * as v from 'valibot'

/** Where a page ended: the sort key in microseconds, as the database writes it, and the id that breaks ties. */
export type Cursor = { readonly at: string; readonly id: string }

const Parts = v.tuple([v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)), uuid])

export const encodeCursor = (cursor: Cursor): string =>
  Buffer.from(JSON.stringify([cursor.at, cursor.id])).toString('base64url')

/** Fails with `validation_failed` at `/cursor` (decision 10.1). */
export function decodeCursor(text: string | undefined): Cursor | null {
  if (text === undefined) return null
  const parts = v.safeParse(Parts, readJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parts.success || Number.isNaN(Date.parse(parts.output[0]))) throw unreadable()
  return { at: parts.output[0], id: parts.output[1] }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const unreadable = (): ServiceError =>
  new ServiceError('validation_failed', undefined, {
    errors: [{ pointer: '/cursor', code: 'invalid_value', message: 'must be a cursor of this list' }],
  })

/** A page out of one row more than asked for. */
export function pageOf<T>(
  rows: readonly T[],
  limit: number,
  cursorOf: (row: T) => Cursor,
): { readonly rows: readonly T[]; readonly nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return { rows: shown, nextCursor: more ? encodeCursor(cursorOf(last)) : null }
}
