/** The closed list of error codes with their status and title (decision 1.3). */
export const ERRORS = {
  malformed_request: { status: 400, title: 'The request could not be read' },
  unauthenticated: { status: 401, title: 'Sign in first' },
  invalid_credentials: { status: 401, title: 'E-mail or password is incorrect' },
  invalid_token: { status: 401, title: 'The token is missing or not valid' },
  csrf_failed: { status: 403, title: 'The request did not come from an allowed origin' },
  wrong_audience: { status: 403, title: 'This part of the service is not for this kind of user' },
  capability_missing: { status: 403, title: 'Your role does not allow this' },
  tenant_pin_required: { status: 403, title: 'Enter the tenant first' },
  password_change_required: { status: 403, title: 'Change your password first' },
  forbidden_target: { status: 403, title: 'This target is not yours to act on' },
  untrusted_proxy: { status: 403, title: 'These identity headers are not accepted' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'This method is not allowed here' },
  state_conflict: { status: 409, title: 'The current state does not allow this' },
  slug_taken: { status: 409, title: 'The slug is already in use' },
  email_taken: { status: 409, title: 'The e-mail address is already in use' },
  version_conflict: { status: 409, title: 'Somebody else changed this meanwhile' },
  self_change: { status: 409, title: 'You cannot change this about yourself' },
  last_admin: { status: 409, title: 'The last administrator has to stay' },
  lease_lost: { status: 409, title: 'The lease is no longer yours' },
  request_in_progress: { status: 409, title: 'The same request is still running' },
  precondition_failed: { status: 412, title: 'The resource has changed' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be JSON' },
  validation_failed: { status: 422, title: 'The request is not valid' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key belongs to another request' },
  account_locked: { status: 423, title: 'The account is locked' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'The service cannot do this right now' },
} as const
export type ErrorCode = keyof typeof ERRORS

/** One finding of a validation: a JSON pointer, a code, a message that never echoes the value. */
export type FieldError = { readonly pointer: string; readonly code: string; readonly message: string }

/** Public members that some codes carry beside the common ones (decision 1.3). */
export type ErrorExtras = {
  readonly errors?: readonly FieldError[]
  readonly current_state?: string
  readonly locked_until?: string
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number
}

/** An expected failure: its code decides the status, `detail` is public. Whatever else is thrown is a 500. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly extras: ErrorExtras
  constructor(code: ErrorCode, detail?: string, extras: ErrorExtras = {}, cause?: unknown) {
    super(detail ?? ERRORS[code].title, cause === undefined ? undefined : { cause })
    this.code = code
    this.extras = extras
  }
}
