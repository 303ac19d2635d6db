import type * as v from 'valibot'
import { convert } from './convert.ts'
import type { JsonSchema } from './convert.ts'

/**
 * The draft-07 JSON schema of a valibot schema, as Helm reads it beside a chart: objects refuse unknown keys.
 * Throws UnsupportedSchemaError for constructs that it cannot write exactly.
 */
export const jsonSchema = (schema: v.GenericSchema): JsonSchema => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...convert(schema, { kubernetes: false, closed: true }),
})
