import { createHash } from 'node:crypto'
import { type Clock, materialKey, SERVICE_TOKEN, ServiceError, TENANT_SECRETS } from '@service/domain'
import { decodeJwt } from 'jose'
import type { Material } from '../secrets/wazuh.ts'
import type { ServiceTokens, TokenKind } from '../tokens/tokens.ts'
import { type Job, startJob } from './loop.ts'
import { type Tended, tendMaterial, type TendOptions } from './tend-material.ts'

export type RefreshTokensOptions = TendOptions & { readonly tokens: ServiceTokens }

const EVERY_MS = 30 * 60_000
/** After an outage the tokens may be close to their end. */
const FIRST_MS = 60_000
/** Tokens that were made together are renewed over the last day of their week, not all at once. */
const JITTER_MS = 24 * 60 * 60_000
const KEYS = {
  adapter: materialKey(TENANT_SECRETS.adapterToken.name, TENANT_SECRETS.adapterToken.keys[0]),
  worker: materialKey(TENANT_SECRETS.runsWorkerToken.name, TENANT_SECRETS.runsWorkerToken.keys[0]),
} as const satisfies Record<TokenKind, string>
const KINDS = ['adapter', 'worker'] as const

/** Renews the tokens of the tenants' workloads weekly, with jitter (decision 2.11). */
export function startRefreshTokensJob(options: RefreshTokensOptions): Job {
  const work = () => refreshTokens(options)
  return startJob({ name: 'token-refresh', everyMs: EVERY_MS, firstMs: FIRST_MS, work, log: options.log })
}

/** Renews both tokens of every live tenant that has an old one. */
export const refreshTokens = (options: RefreshTokensOptions): Promise<number> =>
  tendMaterial(options, 'tokens_refreshed', async (tenant, present) =>
    (await isDue(options, tenant, present)) ? newTokens(options.tokens, tenant) : {},
  )

/** A token that is old, or that no longer opens anything. */
async function isDue(
  { tokens, clock }: { readonly tokens: ServiceTokens; readonly clock: Clock },
  tenant: Tended,
  present: Material,
): Promise<boolean> {
  for (const kind of KINDS) {
    const token = present[KEYS[kind]] ?? ''
    const subject = await tokens.verify(kind, token).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'invalid_token') return null
      throw error
    })
    if (subject === null || subject.tokenVersion !== tenant.tokenVersion) return true
    const issuedAt = (decodeJwt(token).iat ?? 0) * 1_000
    if (clock().getTime() - issuedAt >= refreshAge(tenant.id, issuedAt)) return true
  }
  return false
}

/** Between six and seven days, the same at every look. */
export function refreshAge(tenantId: string, issuedAt: number): number {
  const draw = createHash('sha256').update(`${tenantId}/${issuedAt}`).digest().readUInt32BE(0) / 2 ** 32
  return SERVICE_TOKEN.refreshMs - draw * JITTER_MS
}

async function newTokens(tokens: ServiceTokens, tenant: Tended): Promise<Material> {
  const subject = { tenantId: tenant.id, tokenVersion: tenant.tokenVersion }
  const minted = KINDS.map(async (kind) => [KEYS[kind], (await tokens.mint(kind, subject)).token] as const)
  return Object.fromEntries(await Promise.all(minted))
}
