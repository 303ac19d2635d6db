const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export type CsrfHeaders = { readonly origin: string | undefined; readonly referer: string | undefined }

/**
 * S "CSRF" with decision 2.10: a request that changes something says, by Origin or else by Referer, that it comes from
 * the very origin it goes to. The own origin comes from configuration, so it stands in the allow-list by construction.
 */
export function passesCsrf(method: string, headers: CsrfHeaders, ownOrigin: string | null): boolean {
  if (SAFE_METHODS.has(method)) return true
  if (ownOrigin === null) return false
  if (headers.origin !== undefined) return headers.origin === ownOrigin
  if (headers.referer === undefined || !URL.canParse(headers.referer)) return false
  return new URL(headers.referer).origin === ownOrigin
}
