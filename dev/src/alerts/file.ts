import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import * as v from 'valibot'
import { wazuhTime } from './generate.ts'
import type { Alert } from './generate.ts'

const unzip = promisify(gunzip)

const Line = v.looseObject({
  id: v.pipe(v.string('must be a text'), v.minLength(1, 'must not be empty')),
  timestamp: v.pipe(
    v.string('must be a text'),
    v.check((value) => !Number.isNaN(momentOf(value)), 'must be a date-time'),
  ),
  rule: v.looseObject({
    level: v.pipe(v.number('must be a number'), v.integer('must be a whole number')),
  }),
})

/** JavaScript wants a colon in an offset that Wazuh writes without. */
export const momentOf = (timestamp: string): number =>
  Date.parse(timestamp.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))

/**
 * Reads alerts, one JSON document a line, also gzipped. Empty lines are skipped.
 * Rejects with the number of the first line that is not an alert.
 */
export async function readAlertsFile(path: string): Promise<Alert[]> {
  const bytes = await readFile(path)
  const gzipped = bytes[0] === 0x1f && bytes[1] === 0x8b
  const text = (gzipped ? await unzip(bytes) : bytes).toString('utf8')
  return text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [readLine(line, `${path}: line ${index + 1}`)]))
}

function readLine(line: string, where: string): Alert {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    throw new Error(`${where} is not JSON`)
  }
  const result = v.safeParse(Line, parsed)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new Error(`${where} is not an alert: ${v.getDotPath(issue) ?? 'it'} ${issue.message}`)
}

/** The same alerts, moved to end at `end`; their distances shrink when they would not fit into `withinMs`. */
export function shiftToEndAt(alerts: readonly Alert[], end: Date, withinMs = Infinity): Alert[] {
  const moments = alerts.map((alert) => momentOf(String(alert['timestamp'])))
  const newest = moments.reduce((latest, moment) => Math.max(latest, moment), Number.NEGATIVE_INFINITY)
  const oldest = moments.reduce((earliest, moment) => Math.min(earliest, moment), Number.POSITIVE_INFINITY)
  const scale = Math.min(1, withinMs / Math.max(newest - oldest, 1))
  return alerts.map((alert, index) => {
    const moment = end.getTime() - (newest - (moments[index] ?? newest)) * scale
    return { ...alert, timestamp: wazuhTime(new Date(moment)) }
  })
}
