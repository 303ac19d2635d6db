import { redact } from './redact.ts'

/** Texts that an event can hold: no NUL, no lone surrogates, at most `max` code points. */
export function fit(text: string, max: number): string {
  // A code point takes at most two units: what stands behind can never be kept.
  const clean = text
    .slice(0, 2 * max)
    .replaceAll('\0', '\uFFFD')
    .toWellFormed()
  if (clean.length <= max) return clean
  let end = 0
  for (let kept = 0; kept < max && end < clean.length; kept += 1) end += isHigh(clean.charCodeAt(end)) ? 2 : 1
  return clean.slice(0, end)
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** How much of a text is searched for secrets, as a multiple of what is kept: redaction makes texts shorter. */
const SEARCHED = 8

/** A text of free form: secrets are redacted before it is cut, so that none is cut out of recognition. */
export function safeText(text: string, max: number): string {
  return fit(redact(text.slice(0, SEARCHED * max)), max)
}
