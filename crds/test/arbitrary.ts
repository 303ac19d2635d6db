import * as fc from 'fast-check'
import type { JsonSchema } from '../src/convert.ts'

type Json = Readonly<Record<string, unknown>>

/** Anything that the schema admits, CEL rules aside; keys with a default are sometimes left out. */
export function admitted(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { nullable, ...rest } = schema
  if (nullable === true) return fc.option(admitted(rest), { nil: null })
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  switch (schema.type) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: clamp(schema.minimum ?? 0), max: clamp(schema.maximum ?? 0) })
    case 'string':
      return textOf(schema)
    case 'array':
      return listOf(schema)
    case 'object':
      return objectOf(schema)
    default:
      throw new Error(`no arbitrary for ${JSON.stringify(schema)}`)
  }
}

// Go's integers end where these do; the bounds themselves are what is interesting.
const clamp = (bound: number): number => Math.min(Math.max(bound, -(2 ** 31)), 2 ** 31 - 1)

function textOf({ pattern, format, maxLength = 0, minLength = 0 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.date({ noInvalidDate: true, ...YEARS }).map((at) => at.toISOString())
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern)).filter((value) => Array.from(value).length <= maxLength)
  }
  const units = fc.constantFrom('binary' as const, 'grapheme-ascii' as const)
  return units.chain((unit) => fc.string({ unit, minLength, maxLength, size: 'max' }))
}

const YEARS = { min: new Date('2000-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z') }

function listOf(schema: JsonSchema): fc.Arbitrary<unknown[]> {
  const item = admitted(schema.items ?? {})
  const maxLength = schema.maxItems ?? 0
  const keys = schema['x-kubernetes-list-map-keys']
  if (keys === undefined) return fc.array(item, { maxLength })
  return fc.uniqueArray(item, {
    maxLength,
    selector: (entry) => keys.map((key) => (entry as Json)[key]).join('/'),
  })
}

function objectOf({ properties, additionalProperties, required = [] }: JsonSchema): fc.Arbitrary<Json> {
  if (properties === undefined) {
    if (typeof additionalProperties !== 'object') throw new Error('an object without a shape')
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), admitted(additionalProperties), { maxKeys: 4 })
  }
  const model = Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, admitted(each)]))
  return fc.record(model, { requiredKeys: required.filter((key) => key in model) })
}
