import { randomBytes } from 'node:crypto'
import { uuidOf } from '../db/ids.ts'

const BYTES = 16

/** 16 random bytes: the row's id as a UUID, the cookie as their unpadded base64url, 22 characters (decision 1.1). */
export function newSessionId(): { readonly id: string; readonly cookie: string } {
  const bytes = randomBytes(BYTES)
  return { id: uuidOf(bytes), cookie: bytes.toString('base64url') }
}

/** The row's id that a cookie names; null for what is no cookie of ours, another spelling of one included. */
export function sessionIdOf(cookie: string): string | null {
  if (!/^[A-Za-z0-9_-]{22}$/.test(cookie)) return null
  const bytes = Buffer.from(cookie, 'base64url')
  return bytes.length === BYTES && bytes.toString('base64url') === cookie ? uuidOf(bytes) : null
}
