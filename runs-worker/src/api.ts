import { ApiError, createApiClient } from '@service/pod'
import type { ApiClientOptions } from '@service/pod'
import { ROUTES, RunHeartbeatAnswer, RunReleaseAnswer, RunEnvelope } from '@service/wire'
import type { RunClaim, RunHeartbeat, RunRelease } from '@service/wire'
import * as v from 'valibot'

/** A run that this worker holds. `work` is the whole answer of the claim, of which only the envelope is checked here. */
export type HeldRun = {
  readonly id: string
  readonly jobType: string
  readonly leaseId: string
  readonly work: Readonly<Record<string, unknown>>
  /** The run's own token and the end of its lease; each renewal brings new ones. */
  token: string
  leaseExpiresAt: number
}

/** The routes of the API that a worker calls (decision 5.11). Every method rejects with an ApiError. */
export type Api = {
  /** The next run, or `null`. */
  claim: (claim: RunClaim) => Promise<HeldRun | null>
  /** Renews the lease, in place. `lease_lost` rejects as `rejecting`. */
  heartbeat: (run: HeldRun) => Promise<void>
  release: (run: HeldRun, why: Omit<RunRelease, 'lease_id'>) => Promise<RunReleaseAnswer>
  close: () => void
}

const runPath = (id: string, verb: string) => ({
  method: 'POST',
  path: `/api/internal/worker/runs/${encodeURIComponent(id)}/${verb}`,
})

export function createApi(options: ApiClientOptions): Api {
  const { call, close } = createApiClient(options)
  return {
    claim: async (claim) => {
      const body = JSON.stringify(claim)
      const answer = await call(ROUTES['worker.runs.claim'], v.nullable(RunEnvelope), { body })
      return answer === null ? null : heldRun(answer)
    },
    heartbeat: async (run) => {
      const body: RunHeartbeat = { lease_id: run.leaseId }
      const request = { body: JSON.stringify(body), token: run.token }
      const { lease_expires_at, token } = await call(
        runPath(run.id, 'heartbeat'),
        RunHeartbeatAnswer,
        request,
      )
      run.leaseExpiresAt = Date.parse(lease_expires_at)
      run.token = token ?? run.token
    },
    release: (run, why) => {
      const body: RunRelease = { lease_id: run.leaseId, ...why }
      const request = { body: JSON.stringify(body), token: run.token }
      return call(runPath(run.id, 'release'), RunReleaseAnswer, request)
    },
    close,
  }
}

const heldRun = (answer: RunEnvelope): HeldRun => ({
  id: answer.run.id,
  jobType: answer.run.job_type,
  leaseId: answer.lease_id,
  work: answer,
  token: answer.token,
  leaseExpiresAt: Date.parse(answer.lease_expires_at),
})

/** Whether the run is certainly no longer this worker's. */
export const isLost = (error: unknown): boolean =>
  error instanceof ApiError && (error.failure === 'rejecting' || error.failure === 'unauthorized')
