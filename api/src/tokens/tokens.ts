import { createHmac, randomUUID } from 'node:crypto'
import { type Clock, SERVICE_TOKEN, ServiceError } from '@service/domain'
import { errors, jwtVerify, SignJWT } from 'jose'
import * as v from 'valibot'

/** Tokens that tenants' own workloads carry (S "Token claims", decision 2.11). */
export type TokenKind = 'adapter' | 'worker'
/** The current key first; each at least 32 bytes. */
export type TokenKeys = Readonly<Record<TokenKind, readonly [Uint8Array, ...Uint8Array[]]>>
export type TokenSubject = { readonly tenantId: string; readonly tokenVersion: number }
export type MintedToken = { readonly token: string; readonly expiresAt: Date }
export type ServiceTokens = {
  mint(kind: TokenKind, subject: TokenSubject): Promise<MintedToken>
  /** Signature and claims only. Fails with `invalid_token`, also for a token of another kind. */
  verify(kind: TokenKind, token: string): Promise<TokenSubject>
}

const ISSUER = 'service'
const ALGORITHM = 'HS256'
const KINDS = {
  adapter: { typ: 'adapter+jwt', audience: 'service:adapter' },
  worker: { typ: 'worker+jwt', audience: 'service:worker' },
} as const satisfies Record<TokenKind, { typ: string; audience: string }>
const REQUIRED = ['iss', 'aud', 'sub', 'exp', 'iat', 'tenant_id', 'token_version']

const Claims = v.object({
  sub: v.string(),
  user_type: v.string(),
  scope: v.string(),
  tenant_id: v.pipe(v.string(), v.uuid()),
  token_version: v.pipe(v.number(), v.integer(), v.minValue(1)),
})

export function createServiceTokens(keys: TokenKeys, clock: Clock): ServiceTokens {
  for (const key of Object.values(keys).flat())
    if (key.byteLength < SERVICE_TOKEN.minKeyBytes)
      throw new Error(`a signing key needs at least ${SERVICE_TOKEN.minKeyBytes} bytes`)
  return {
    async mint(kind, { tenantId, tokenVersion }) {
      const issuedAt = Math.floor(clock().getTime() / 1000)
      const expiry = issuedAt + SERVICE_TOKEN.lifetimeMs / 1000
      const [key] = keys[kind]
      const claims = { user_type: kind, scope: kind, tenant_id: tenantId, token_version: tokenVersion }
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: ALGORITHM, typ: KINDS[kind].typ, kid: keyId(key) })
        .setIssuer(ISSUER)
        .setAudience(KINDS[kind].audience)
        .setSubject(kind)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiry)
        .setJti(randomUUID())
        .sign(key)
      return { token, expiresAt: new Date(expiry * 1000) }
    },
    verify: (kind, token) => verify(keys[kind], kind, token, clock()),
  }
}

async function verify(
  keys: TokenKeys[TokenKind],
  kind: TokenKind,
  token: string,
  now: Date,
): Promise<TokenSubject> {
  const { payload } = await jwtVerify(token, ({ kid }) => keyOf(keys, kid), {
    algorithms: [ALGORITHM],
    issuer: ISSUER,
    audience: KINDS[kind].audience,
    typ: KINDS[kind].typ,
    subject: kind,
    requiredClaims: REQUIRED,
    currentDate: now,
  }).catch((error: unknown) => {
    throw error instanceof errors.JOSEError ? refused(error) : error
  })
  const claims = v.safeParse(Claims, payload)
  if (!claims.success || claims.output.user_type !== kind || claims.output.scope !== kind) throw refused()
  return { tenantId: claims.output.tenant_id, tokenVersion: claims.output.token_version }
}

function keyOf(keys: TokenKeys[TokenKind], kid: string | undefined): Uint8Array {
  const key = keys.find((candidate) => keyId(candidate) === kid)
  if (key === undefined) throw refused()
  return key
}

/** Names a key without telling anything about it. */
const keyId = (key: Uint8Array): string =>
  createHmac('sha256', key).update('service: key id').digest('hex').slice(0, 16)

const refused = (cause?: unknown): ServiceError => new ServiceError('invalid_token', undefined, {}, cause)
