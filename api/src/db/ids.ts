import { randomFillSync } from 'node:crypto'
import type { Clock } from '@service/domain'

const bytes = new Uint8Array(16)
let lastMs = -1
let counter = 0

/**
 * A UUIDv7, lower case (decision 1.1). Ids made here in the same millisecond ascend: the 12 bits behind the version
 * count from a random start (RFC 9562, method 1), and a full counter, or a clock that steps back, borrows from the time.
 */
export function newId(clock: Clock): string {
  randomFillSync(bytes)
  const now = clock().getTime()
  if (now > lastMs) {
    lastMs = now
    counter = (((bytes[6] ?? 0) << 8) | (bytes[7] ?? 0)) & 0x7ff
  } else {
    counter += 1
    if (counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
  }
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(lastMs / 2 ** 32))
  view.setUint32(2, lastMs >>> 0)
  view.setUint16(6, 0x7000 | counter)
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  return uuidOf(bytes)
}

/** The lower-case text of 16 bytes. */
export function uuidOf(value: Uint8Array): string {
  const hex = Buffer.from(value).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
