import { type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Cursor } from './cursor.ts'

/** A moment with all its digits, which a Date would cut off. */
export const microseconds = (column: AnyPgColumn): SQL<string> =>
  sql<string>`to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** What comes after a cursor in a list that is newest first. */
export const before = (at: AnyPgColumn, id: AnyPgColumn, cursor: Cursor | null): SQL | undefined =>
  cursor === null
    ? undefined
    : sql`(${at}, ${id}) < (${cursor.at}::text::timestamptz, ${cursor.id}::text::uuid)`

/** Whether a text stands in a column, whatever the case; no pattern characters. */
export const contains = (column: AnyPgColumn, text: string): SQL =>
  sql`strpos(lower(${column}), lower(${text}::text)) > 0`
