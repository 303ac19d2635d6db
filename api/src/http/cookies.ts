import { SESSION_COOKIE } from '@service/domain'

/** The session cookie's value; `null` when there is none or more than one (decision 2.9). */
export function readSessionCookie(header: string | undefined): string | null {
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${SESSION_COOKIE}=`))
    .map((part) => part.slice(SESSION_COOKIE.length + 1))
  const [value, ...others] = values
  return value === undefined || value === '' || others.length > 0 ? null : value
}

export type CookieOptions = { readonly secure: boolean; readonly now: Date }

/** S "Session cookie": host-only, ends with the session's absolute expiry. */
export function sessionCookie(value: string, absoluteExpiry: Date, options: CookieOptions): string {
  const seconds = Math.max(0, Math.ceil((absoluteExpiry.getTime() - options.now.getTime()) / 1000))
  return withAttributes(value, seconds, options.secure)
}

export const clearedSessionCookie = (secure: boolean): string => withAttributes('', 0, secure)

function withAttributes(value: string, maxAge: number, secure: boolean): string {
  const attributes = [
    'Path=/',
    `Max-Age=${maxAge}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(secure ? ['Secure'] : []),
  ]
  return `${SESSION_COOKIE}=${value}; ${attributes.join('; ')}`
}
