import { type ErrorCode, needsPin } from '@service/domain'
import { acceptsIdempotencyKey, answersAtAnyHost, type Route } from './route.ts'

const always = (): boolean => true
const isPeoples = ({ access: { kind } }: Route): boolean => ['session', 'mssp', 'tenant'].includes(kind)
/** A proxy's word counts in proxy mode only, where these routes are. */
const isProxied = (route: Route): boolean => isPeoples(route) && route.internalModeOnly !== true
const isWorkloads = ({ access: { kind } }: Route): boolean => kind === 'adapter' || kind === 'worker'
const changes = ({ method }: Route): boolean => method !== 'GET'
const capabilityOf = ({ access }: Route) => ('capability' in access ? access.capability : null)

/** Where the pipeline's own checks can end a request, in their order (decision 1.4). */
const CHECKS: readonly (readonly [ErrorCode, (route: Route) => boolean])[] = [
  ['malformed_request', always],
  ['csrf_failed', (route) => changes(route) && !isWorkloads(route)],
  ['unauthenticated', isPeoples],
  ['untrusted_proxy', isProxied],
  ['invalid_token', isWorkloads],
  ['wrong_audience', ({ access: { kind } }) => kind === 'mssp' || kind === 'tenant'],
  ['password_change_required', (route) => isPeoples(route) && route.whileMustChange !== true],
  ['capability_missing', (route) => capabilityOf(route) !== null],
  [
    'tenant_pin_required',
    ({ access }) =>
      access.kind === 'mssp' && access.capability !== null && needsPin('analyst', access.capability),
  ],
  // Also a host that is not configured, and in proxy mode the routes of internal mode and a tenant that a header names.
  ['not_found', ({ path }) => !answersAtAnyHost(path)],
  ['body_too_large', changes],
  ['unsupported_media_type', changes],
  ['validation_failed', always],
  ['idempotency_key_reused', acceptsIdempotencyKey],
  ['request_in_progress', acceptsIdempotencyKey],
  ['internal_error', always],
  // Everybody who is not anonymous is looked up in the database.
  ['unavailable', ({ access }) => access.kind !== 'public'],
]

/**
 * Every code with which an operation can answer (decision 1.3), without `method_not_allowed`, which belongs to no operation.
 * In the order of the checks, then those of its own rules.
 */
export function problemsOf(route: Route): readonly ErrorCode[] {
  const checks = CHECKS.filter(([, applies]) => applies(route)).map(([code]) => code)
  return [...new Set([...checks, ...(route.problems ?? [])])]
}
