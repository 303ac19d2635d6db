import type { MiddlewareHandler } from 'hono'
import type { HttpEnv } from '../types.ts'

const POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
/** A page may use scripts, styles and data of its own origin, from files only. */
const PAGE_POLICY = `${POLICY}; script-src 'self'; style-src 'self'; connect-src 'self'`
const HEADERS = {
  'x-content-type-options': 'nosniff',
  // Not no-referrer: without Origin the CSRF rule looks at Referer.
  'referrer-policy': 'strict-origin-when-cross-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-store',
} as const
const HSTS = 'max-age=31536000; includeSubDomains'

/** On every answer, errors included. HSTS only where cookies are secure, so never in development without TLS. */
export const securityHeaders =
  (secure: boolean): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await next()
    setSecurityHeaders(c.res.headers, secure)
  }

export function setSecurityHeaders(headers: Headers, secure: boolean): void {
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value)
  const isPage = headers.get('content-type')?.startsWith('text/html') === true
  headers.set('content-security-policy', isPage ? PAGE_POLICY : POLICY)
  if (secure) headers.set('strict-transport-security', HSTS)
}
