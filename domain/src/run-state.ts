/** `job_type` of a run (decision 5.6). */
export const JOB_TYPES = ['triage', 'chat'] as const
export type JobType = (typeof JOB_TYPES)[number]
