import type { Clock } from '@service/domain'
import type { HostSlug } from '../../db/credentials.ts'
import type { Database } from '../../db/database.ts'
import type { PasswordHasher } from '../../identity/hasher.ts'
import type { LoginLimiter } from '../../identity/limiter.ts'
import type { Log } from '../../log.ts'

export type AuthContext = {
  readonly db: Database
  readonly clock: Clock
  readonly hasher: PasswordHasher
  readonly limiter: LoginLimiter
  readonly authMode: 'internal' | 'proxy'
  /** Keys what is remembered of unknown addresses; at least 32 bytes, the same in all replicas. */
  readonly emailHmacKey: Uint8Array
  readonly log: Log
}

/** The host that a request came to: it decides whose users exist (decision 2.10). */
export type AuthHost = { readonly kind: 'mssp' } | { readonly kind: 'customer'; readonly slug: string }

export const slugOf = (host: AuthHost): HostSlug => (host.kind === 'mssp' ? null : host.slug)
