/**
 * Moments at which a drill kills the process: after each effect of each step and after each transaction. Named by room,
 * the act, and what has just happened. Production builds never reach one.
 */
export const FAILPOINTS = [
  'api.create.material_written',
  'api.create.committed',
  'api.retry.committed',
  'api.projector.applied',
  'api.projector.mark_cleared',
  'api.projector.status_committed',
  'api.heartbeat.committed',
  'api.events.committed',
  'operator.status.written',
  'operator.finalizer.added',
  'operator.namespace.created',
  'operator.secrets.one_written',
  'operator.secrets.written',
  'operator.release.helm_started',
  'operator.release.installed',
  'operator.rollback.uninstalled',
  'operator.rollback.namespace_deleted',
  'operator.teardown.uninstalled',
  'operator.teardown.namespace_deleted',
  'operator.finalizer.removed',
] as const
export type Failpoint = (typeof FAILPOINTS)[number]

/** Called at a failpoint; most often does nothing, in a drill it may never come back. */
export type HitFailpoint = (name: Failpoint) => void
export const noFailpoints: HitFailpoint = () => undefined
