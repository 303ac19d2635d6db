import { JSON_DEPTH, ServiceError } from '@service/domain'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Whether brackets nest deeper than `max`, without parsing; strings are skipped. */
export function nestsDeeperThan(text: string, max: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (inString) {
      if (unit === BACKSLASH) at += 1
      else if (unit === QUOTE) inString = false
    } else if (unit === QUOTE) inString = true
    else if (OPENING.has(unit)) {
      depth += 1
      if (depth > max) return true
    } else if (CLOSING.has(unit)) depth -= 1
  }
  return false
}

/** A body's JSON; fails with `malformed_request` on bad UTF-8, bad JSON, and beyond decision 1.8's depth. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  if (nestsDeeperThan(text, JSON_DEPTH.body))
    throw new ServiceError('malformed_request', `The body is nested deeper than ${JSON_DEPTH.body} levels`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ServiceError('malformed_request', 'The body is not valid JSON', {}, error)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ServiceError('malformed_request', 'The body is not valid UTF-8', {}, error)
  }
}
