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
  'operator.access.granted',
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

/** The moment at which a drill kills the process, counted from 1. */
export type ArmedFailpoint = { readonly name: Failpoint; readonly hit: number }

/** Reads `<name>[:<nth hit>]`; `undefined` for anything else. */
export function parseFailpoint(text: string): ArmedFailpoint | undefined {
  const [, given, times = '1'] = /^([a-z_.]+)(?::([1-9]\d{0,5}))?$/.exec(text) ?? []
  const name = FAILPOINTS.find((known) => known === given)
  return name === undefined ? undefined : { name, hit: Number(times) }
}

/** Calls `kill` when the armed moment comes for the nth time; without one does nothing. */
export function armFailpoint(armed: ArmedFailpoint | null, kill: () => void): HitFailpoint {
  if (armed === null) return noFailpoints
  let hits = 0
  return (name) => {
    if (name !== armed.name) return
    hits += 1
    if (hits === armed.hit) kill()
  }
}
