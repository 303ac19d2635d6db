import * as v from 'valibot'

/** What anybody may rely on of the OpenAPI document (decision 1.9); the rest is OpenAPI's. */
export const OpenApi = v.looseObject({
  openapi: v.pipe(v.string(), v.regex(/^3\.1\.\d+$/)),
  info: v.looseObject({ title: v.string(), version: v.string() }),
  paths: v.record(v.string(), v.unknown()),
})
export type OpenApi = v.InferOutput<typeof OpenApi>
