/** `action` of the audit record (S "Events" 1; the list is open-ended there, closed here so that filters can offer it). */
export const AUDIT_ACTIONS = [
  'auth.login.success',
  'auth.login.failure',
  'auth.logout',
  'auth.password.changed',
  'auth.password.reset.admin',
  'auth.lockout.triggered',
  'system.enter',
  'system.bootstrap',
  'tenant.assume',
  'tenant.leave',
  'tenant.create',
  'tenant.retry',
  'tenant.state_changed',
  'tenant.tokens_refreshed',
  'tenant.secrets.completed',
  'tenant.secrets.changed',
  'user.create',
  'user.update',
  'user.deactivate',
  'user.reactivate',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** `details.reason` of `auth.login.failure`. */
export const LOGIN_FAILURE_REASONS = ['bad_password', 'unknown_email', 'locked'] as const
export type LoginFailureReason = (typeof LOGIN_FAILURE_REASONS)[number]
