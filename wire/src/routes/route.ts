import type { ErrorCode, MsspCapability, TenantCapability } from '@service/domain'
import type * as v from 'valibot'
import { strictObject } from '../object.ts'
import { uuid } from '../text.ts'

/** Who may call a route. `session` is any signed-in user; a user route names one capability (decision 2.8). */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'session' }
  | { readonly kind: 'mssp'; readonly capability: MsspCapability | null }
  | { readonly kind: 'tenant'; readonly capability: TenantCapability | null }
  | { readonly kind: 'adapter' }
  | { readonly kind: 'worker' }

/** What an `{id}` in a path names. */
export type Resource = 'tenant' | 'user'

export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path template as S writes it, colon verbs included: `/api/mssp/tenants/{id}:retry`. */
  readonly path: string
  readonly summary: string
  readonly access: Access
  readonly params?: v.GenericSchema
  /** Goes with `params`. */
  readonly resource?: Resource
  readonly query?: v.GenericSchema
  readonly body?: v.GenericSchema
  /** Bytes; `BODY.json` when absent. */
  readonly bodyLimit?: number
  readonly status: 200 | 201 | 202 | 204
  readonly response: v.GenericSchema | null
  /** A status that comes with the same body as `status`. */
  readonly otherwise?: 503
  /** What an answer is that is no JSON. */
  readonly media?: 'text/html' | 'text/css' | 'text/javascript'
  /** Codes of the operation's own rules; those of access, input and keys follow from the rest of the row. */
  readonly problems?: readonly ErrorCode[]
  /** A list that is also NDJSON or CSV, by `Accept` (decision 7). */
  readonly exports?: true
  /** Open while the password must be changed (decision 2.5). */
  readonly whileMustChange?: true
  /** Answers 404 in proxy mode (S "Authentication routes"). */
  readonly internalModeOnly?: true
}

/** Whether a route makes or does something for a user, so that it takes an `Idempotency-Key` (decision 1.7). */
export const acceptsIdempotencyKey = ({ method, access, path }: Route): boolean =>
  method === 'POST' && (access.kind === 'mssp' || access.kind === 'tenant') && !path.startsWith('/api/auth/')

/** Whether a path answers at any Host: health (decision 1.11) and `/api/internal/*` (decision 2.10). */
export const answersAtAnyHost = (path: string): boolean =>
  path.startsWith('/api/internal/') || path.startsWith('/health/') || path.startsWith('/api/health/')

/** A route without query parameters refuses every one. */
export const noQuery = strictObject({})
export const byId = strictObject({ id: uuid })
export const publicAccess = { kind: 'public' } as const
export const session = { kind: 'session' } as const
export const mssp = <const C extends MsspCapability | null>(capability: C) =>
  ({ kind: 'mssp', capability }) as const
export const tenant = <const C extends TenantCapability | null>(capability: C) =>
  ({ kind: 'tenant', capability }) as const
export const adapter = { kind: 'adapter' } as const
export const worker = { kind: 'worker' } as const
