import { JOB_TYPES } from '@service/domain'
import * as v from 'valibot'
import { strictObject } from './object.ts'
import { text, timestamp, uuid } from './text.ts'

/** Body of a claim (decision 5.11): who asks, and for what; without `job_types` for everything. */
export const RunClaim = strictObject({
  worker_id: text(1, 128),
  job_types: v.optional(
    v.pipe(
      v.array(v.picklist(JOB_TYPES)),
      v.minLength(1, 'must name at least one'),
      v.maxLength(JOB_TYPES.length, `must be at most ${JOB_TYPES.length} items`),
    ),
    [...JOB_TYPES],
  ),
})
export type RunClaim = v.InferOutput<typeof RunClaim>

/**
 * What every answer to a claim holds beside the work itself: which run, the token that alone opens it, and the lease that
 * fences it (decisions 2.11, 5.11). The rest is kept as it comes.
 */
export const RunEnvelope = v.looseObject({
  run: v.looseObject({ id: uuid, job_type: v.string() }),
  token: v.pipe(v.string(), v.regex(/^[\x21-\x7E]{1,8192}$/)),
  lease_id: uuid,
  lease_expires_at: timestamp,
})
export type RunEnvelope = v.InferOutput<typeof RunEnvelope>

/** Body of `/runs/{id}/heartbeat`; 409 `lease_lost` when the lease is expired, foreign or ended. */
export type RunHeartbeat = { readonly lease_id: string; readonly tokens?: number; readonly dollars?: number }
/** A new token comes when the old one grows old. */
export const RunHeartbeatAnswer = v.object({ lease_expires_at: timestamp, token: v.nullable(v.string()) })

/** Body of `/runs/{id}/release`: the run goes back, with why. */
export type RunRelease = {
  readonly lease_id: string
  readonly reason: string
  readonly error_category: string
}
export const RunReleaseAnswer = v.object({ retrying: v.boolean(), attempt: v.number() })
export type RunReleaseAnswer = v.InferOutput<typeof RunReleaseAnswer>
