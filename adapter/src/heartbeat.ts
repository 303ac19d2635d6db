import { HEARTBEAT } from '@service/domain'
import type { Clock } from '@service/domain'
import { ApiError, backoffMs, pause, reasonOf } from '@service/pod'
import type { RetryTimes } from '@service/pod'
import type { Logger } from 'pino'
import type { Api } from './api.ts'
import { healthOf, metricsOf } from './status.ts'
import type { Status } from './status.ts'
import { VERSION } from './version.ts'

export type HeartbeatOptions = {
  readonly api: Pick<Api, 'heartbeat'>
  readonly tenantId: string
  readonly status: Readonly<Status>
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs: number
  /** A last read that is older than this is not `ok`. */
  readonly staleMs: number
  readonly retryTimes: RetryTimes
  readonly stopping: AbortSignal
}

/** One heartbeat at once and then one each interval, sooner after a failure. Never rejects. */
export async function runHeartbeats(options: HeartbeatOptions): Promise<void> {
  const { api, status, clock, log, stopping, intervalMs, retryTimes } = options
  let failures = 0
  let tenantState = ''
  while (!stopping.aborted) {
    const now = clock().getTime()
    let wait = intervalMs
    try {
      const health = healthOf(status, now, options.staleMs).slice(0, HEARTBEAT.healthLength)
      const metrics = metricsOf(status, now)
      const { state } = await api.heartbeat({
        tenant_id: options.tenantId,
        version: VERSION,
        health,
        metrics,
      })
      if (failures > 0 || state !== tenantState) log.info({ state, health }, 'the heartbeat is accepted')
      tenantState = state
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 1) log.warn({ reason: reasonOf(error) }, 'the heartbeat has failed')
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
      wait = Math.max(Math.min(backoffMs(failures, retryTimes), intervalMs), asked)
    }
    await pause(wait, stopping)
  }
}
