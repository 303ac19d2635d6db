import { JOB_TYPES } from '@service/domain'
import * as v from 'valibot'
import { strictObject } from './object.ts'
import { text } from './text.ts'

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
