import type * as v from 'valibot'
import { convert } from './convert.ts'
import type { JsonSchema } from './convert.ts'

/**
 * The structural OpenAPI v3 schema of a valibot schema, as apiextensions.k8s.io/v1 wants it: no
 * `additionalProperties` beside `properties` (the API server prunes what it does not know), `nullable` instead of
 * `anyOf`. Throws UnsupportedSchemaError for constructs that it cannot write exactly.
 */
export const structuralSchema = (schema: v.GenericSchema): JsonSchema =>
  convert(schema, { kubernetes: true, closed: false })
