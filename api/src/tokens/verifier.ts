import { type AdapterPrincipal, type Clock, ServiceError, type WorkerPrincipal } from '@service/domain'
import type { ServiceTokens, TokenKind } from './tokens.ts'

/** What the tenant's row says about its tokens; `null` when there is no such tenant or it is deleted. */
export type TokenState = { readonly tokenVersion: number } | null
export type TokenVerifier = (kind: TokenKind, token: string) => Promise<AdapterPrincipal | WorkerPrincipal>

const CACHE_MS = 5_000
const CACHE_ENTRIES = 10_000

/**
 * Signature first, so that a forged token costs no query; then the tenant's token version, at most five seconds old.
 * Tokens die with the soft delete of the tenant and with a change of its token version (decision 2.11).
 */
export function createTokenVerifier(options: {
  readonly tokens: ServiceTokens
  readonly load: (tenantId: string) => Promise<TokenState>
  readonly clock: Clock
}): TokenVerifier {
  const cache = new Map<string, { readonly at: number; readonly state: Promise<TokenState> }>()

  function stateOf(tenantId: string): Promise<TokenState> {
    const now = options.clock().getTime()
    const known = cache.get(tenantId)
    if (known !== undefined && now - known.at < CACHE_MS) return known.state
    const state = options.load(tenantId)
    const entry = { at: now, state }
    cache.delete(tenantId)
    cache.set(tenantId, entry)
    const oldest = cache.keys().next()
    if (cache.size > CACHE_ENTRIES && !oldest.done) cache.delete(oldest.value)
    state.catch(() => {
      if (cache.get(tenantId) === entry) cache.delete(tenantId)
    })
    return state
  }

  return async (kind, token) => {
    const { tenantId, tokenVersion } = await options.tokens.verify(kind, token)
    const state = await stateOf(tenantId)
    if (state === null || state.tokenVersion !== tokenVersion) throw new ServiceError('invalid_token')
    return { kind, tenantId, tokenVersion }
  }
}
