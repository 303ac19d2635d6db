import type { TextAnswer } from './types.ts'

/** What a list can be besides a page of JSON (decision 7). */
export type ExportFormat = 'ndjson' | 'csv'
export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
}

type Exported = {
  readonly format: ExportFormat
  /** Columns in order. */
  readonly fields: readonly string[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly nextCursor: string | null
  /** Path and query that were asked for. */
  readonly target: string
}

/** Rows as a file; where it ends too early, `Link` says how to go on. */
export function exported({ format, fields, rows, nextCursor, target }: Exported): TextAnswer {
  const text = format === 'csv' ? csv(fields, rows) : rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  return {
    text,
    contentType: `${EXPORT_TYPES[format]}; charset=utf-8`,
    headers: nextCursor === null ? {} : { link: `<${withCursor(target, nextCursor)}>; rel="next"` },
  }
}

/** RFC 4180 with a header line; objects as JSON, nothing for null. */
function csv(fields: readonly string[], rows: Exported['rows']): string {
  const lines = rows.map((row) => fields.map((field) => cell(row[field])))
  return [fields, ...lines].map((line) => `${line.join(',')}\r\n`).join('')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function withCursor(target: string, cursor: string): string {
  const url = new URL(target, 'http://localhost')
  url.searchParams.set('cursor', cursor)
  return `${url.pathname}${url.search}`
}
