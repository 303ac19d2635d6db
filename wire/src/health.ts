import * as v from 'valibot'

const CHECK = v.picklist(['ok', 'failing', 'off'])

/** Decision 1.11. */
export const Live = v.object({
  ok: v.boolean(),
  auth_mode: v.picklist(['internal', 'proxy']),
  version: v.string(),
})
export const Ready = v.object({
  ...Live.entries,
  checks: v.object({
    database: CHECK,
    migrations: CHECK,
    signing_keys: CHECK,
    cluster: CHECK,
    operator: CHECK,
  }),
})
export type Live = v.InferOutput<typeof Live>
export type Ready = v.InferOutput<typeof Ready>
export type CheckStatus = v.InferOutput<typeof CHECK>
