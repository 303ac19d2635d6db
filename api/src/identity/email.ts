import { createHmac } from 'node:crypto'

/** E-mail addresses are compared case-insensitively (decision 2.1); stored and looked up like this. */
export const normalizeEmail = (email: string): string => email.toLowerCase()

/** What is remembered of an unknown address instead of itself (decision 2.2). */
export const emailHmac = (key: Uint8Array, email: string): Uint8Array =>
  createHmac('sha256', key).update(normalizeEmail(email)).digest()
