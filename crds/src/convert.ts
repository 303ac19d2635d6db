import type * as v from 'valibot'
import type { KubernetesMetadata } from './kubernetes.ts'

/** The part of JSON Schema that both outputs use, with the extensions of the API server. */
export type JsonSchema = {
  $schema?: string
  title?: string
  description?: string
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  nullable?: true
  enum?: readonly (string | boolean)[]
  default?: unknown
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  additionalProperties?: false | JsonSchema
  required?: string[]
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: readonly string[]
  'x-kubernetes-validations'?: { rule: string; message: string }[]
}

/** How the two outputs differ. */
export type Dialect = {
  /** Whether the extensions of the API server, `nullable` among them, may be written. */
  readonly kubernetes: boolean
  /** Whether strict objects say that they refuse other keys; a structural schema may not say it. */
  readonly closed: boolean
}

type AnySchema = v.GenericSchema
type PipeItem = { readonly kind: string; readonly type: string; readonly [key: string]: unknown }

/** A construct without an exact counterpart is an error of whoever writes the schema, never left out silently. */
export class UnsupportedSchemaError extends Error {
  override readonly name = 'UnsupportedSchemaError'
  constructor(path: string, construct: string) {
    super(`${path === '' ? 'the schema' : path}: ${construct} has no counterpart`)
  }
}

/** Writes a valibot schema in one of the dialects; throws UnsupportedSchemaError with the path of what it cannot write. */
export function convert(schema: AnySchema, dialect: Dialect, path = ''): JsonSchema {
  const pipe = (schema as { pipe?: readonly PipeItem[] }).pipe
  if (pipe === undefined) return base(schema, dialect, path)
  const [first, ...items] = pipe
  const result = convert(first as unknown as AnySchema, dialect, path)
  const extensions = kubernetesOf(items)
  for (const item of items) apply(result, item, extensions, path)
  if (extensions.maxLength !== undefined) result.maxLength = extensions.maxLength
  if (dialect.kubernetes) addExtensions(result, extensions)
  return result
}

function base(schema: AnySchema, dialect: Dialect, path: string): JsonSchema {
  const { type } = schema
  const own = schema as unknown as {
    readonly entries: Record<string, AnySchema>
    readonly options: readonly string[]
    readonly item: AnySchema
    readonly value: AnySchema
    readonly key: AnySchema
    readonly wrapped: AnySchema
    readonly literal: unknown
    readonly default: unknown
  }
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return { type }
    case 'picklist':
      if (!own.options.every((option) => typeof option === 'string'))
        throw new UnsupportedSchemaError(path, 'a picklist of other things than strings')
      return { type: 'string', enum: own.options }
    case 'literal':
      return literalOf(own.literal, path)
    case 'unknown':
      if (dialect.kubernetes) throw new UnsupportedSchemaError(path, "valibot's unknown")
      return {}
    case 'array':
      return { type: 'array', items: convert(own.item, dialect, `${path}[]`) }
    case 'record':
      return recordOf(own.key, own.value, dialect, path)
    case 'object':
      if (dialect.closed) throw new UnsupportedSchemaError(path, 'an object that drops unknown keys')
      return objectOf(own.entries, dialect, path)
    case 'strict_object':
      return objectOf(own.entries, dialect, path)
    case 'optional':
      return optionalOf(convert(own.wrapped, dialect, path), own.default, path)
    case 'nullable':
      if (!dialect.kubernetes) throw new UnsupportedSchemaError(path, "valibot's nullable")
      return { ...convert(own.wrapped, dialect, path), nullable: true }
    default:
      throw new UnsupportedSchemaError(path, `valibot's ${type}`)
  }
}

function literalOf(value: unknown, path: string): JsonSchema {
  if (typeof value === 'string' || typeof value === 'boolean')
    return { type: typeof value as 'string' | 'boolean', enum: [value] }
  throw new UnsupportedSchemaError(path, 'a literal that is neither text nor flag')
}

function objectOf(entries: Record<string, AnySchema>, dialect: Dialect, path: string): JsonSchema {
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  for (const [key, entry] of Object.entries(entries)) {
    properties[key] = convert(entry, dialect, path === '' ? key : `${path}.${key}`)
    if (!isOptional(entry)) required.push(key)
  }
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(dialect.closed ? { additionalProperties: false as const } : {}),
  }
}

function recordOf(key: AnySchema, value: AnySchema, dialect: Dialect, path: string): JsonSchema {
  if (key.type !== 'string' || 'pipe' in key)
    throw new UnsupportedSchemaError(path, 'a record with restricted keys')
  return { type: 'object', additionalProperties: convert(value, dialect, `${path}{}`) }
}

function optionalOf(schema: JsonSchema, fallback: unknown, path: string): JsonSchema {
  if (typeof fallback === 'function') throw new UnsupportedSchemaError(path, 'a computed default')
  return fallback === undefined ? schema : { ...schema, default: fallback }
}

const isOptional = (schema: AnySchema): boolean => schema.type === 'optional'

function kubernetesOf(items: readonly PipeItem[]): KubernetesMetadata {
  const found = items
    .filter(({ type }) => type === 'metadata')
    .map(({ metadata }) => (metadata as { kubernetes?: KubernetesMetadata }).kubernetes ?? {})
  return {
    ...Object.assign({}, ...found),
    rules: found.flatMap(({ rules = [] }) => rules),
  } as KubernetesMetadata
}

function apply(schema: JsonSchema, item: PipeItem, extensions: KubernetesMetadata, path: string): void {
  const limit = item.requirement as number
  const refuse = (): never => {
    throw new UnsupportedSchemaError(path, `valibot's ${item.type} on ${String(schema.type)}`)
  }
  switch (item.type) {
    case 'description':
      schema.description = item.description as string
      return
    case 'title':
      schema.title = item.title as string
      return
    case 'metadata':
      return
    case 'check':
      if (extensions.maxLength === undefined) refuse()
      return
    case 'integer':
      schema.type = schema.type === 'number' ? 'integer' : refuse()
      return
    case 'regex':
      schema.pattern = patternOf(item.requirement as RegExp, path)
      return
    case 'iso_timestamp':
      schema.format = 'date-time'
      return
    case 'min_value':
      schema.minimum = limit
      return
    case 'max_value':
      schema.maximum = limit
      return
    case 'min_length':
      if (schema.type === 'array') schema.minItems = limit
      else if (schema.type === 'string' && limit === 1) schema.minLength = limit
      else refuse()
      return
    case 'max_length':
      if (schema.type === 'array') schema.maxItems = limit
      else refuse()
      return
    default:
      refuse()
  }
}

function patternOf(pattern: RegExp, path: string): string {
  if (pattern.flags !== '') throw new UnsupportedSchemaError(path, 'a pattern with flags')
  return pattern.source
}

function addExtensions(schema: JsonSchema, extensions: KubernetesMetadata): void {
  const { listType, listMapKeys, rules = [] } = extensions
  if (listType !== undefined) schema['x-kubernetes-list-type'] = listType
  if (listMapKeys !== undefined) schema['x-kubernetes-list-map-keys'] = listMapKeys
  if (rules.length > 0) {
    const own = rules.map(({ rule, message }) => ({ rule, message }))
    schema['x-kubernetes-validations'] = [...(schema['x-kubernetes-validations'] ?? []), ...own]
  }
}
