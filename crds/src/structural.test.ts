import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { admitted } from '../test/arbitrary.ts'
import { anySpec } from '../test/samples.ts'
import { UnsupportedSchemaError } from './convert.ts'
import type { JsonSchema } from './convert.ts'
import {
  TenantSpec,
  TenantStatus,
  TenantValues,
  jsonSchema,
  structuralSchema,
  tenantSchema,
} from './index.ts'
import { atomicList, integer, listMap, matching, rules, text, time } from './kubernetes.ts'

type Node = { readonly path: string; readonly schema: JsonSchema }

const nodes = (schema: JsonSchema, path: string): Node[] => [
  { path, schema },
  ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) => nodes(child, `${path}.${key}`)),
  ...(schema.items === undefined ? [] : nodes(schema.items, `${path}[]`)),
]
const tenantNodes = nodes(tenantSchema(), 'tenants')
const find = (path: string) => tenantNodes.find((node) => node.path === path)?.schema

describe('the schema of the Tenant resource', () => {
  it('describes every field, because kubectl explain prints nothing else', () => {
    // The API server allows no description of metadata and brings its own.
    const described = tenantNodes.filter(({ path }) => path !== 'tenants.metadata')
    const silent = described.filter(({ schema }) => !/^\S[^]{8,}\.$/.test(schema.description ?? ''))
    expect(silent.map(({ path }) => path)).toEqual([])
    expect(described.length).toBeGreaterThan(80)
  })

  it('bounds every text, number and list', () => {
    const unbounded = tenantNodes
      .filter(({ path }) => !/^tenants\.(apiVersion|kind)$/.test(path))
      .filter(({ schema }) => {
        if (schema.type === 'string') return schema.enum === undefined && schema.maxLength === undefined
        if (schema.type === 'integer') return schema.minimum === undefined || schema.maximum === undefined
        if (schema.type === 'array')
          return schema.maxItems === undefined || schema['x-kubernetes-list-type'] === undefined
        return schema.type === 'number'
      })
    expect(unbounded.map(({ path }) => path)).toEqual([])
  })

  it('is structural: no node refuses or admits other keys, each has one type', () => {
    for (const { schema } of tenantNodes) {
      expect(schema).not.toHaveProperty('additionalProperties')
      expect(schema).not.toHaveProperty('anyOf')
      expect(typeof schema.type).toBe('string')
    }
  })

  it('keeps what the API server needs to merge and to show', () => {
    expect(find('tenants.status.conditions')).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    })
    expect(find('tenants.status.failure')).toMatchObject({ type: 'object', nullable: true })
    expect(find('tenants.status.phase')?.enum).toContain('decommissioning')
    expect(find('tenants.spec.config.runsWorker.drainSeconds')).toMatchObject({ default: 60, maximum: 3600 })
  })

  it('admits nothing that valibot refuses', () => {
    fc.assert(
      fc.property(anySpec, (spec) => void v.parse(TenantSpec, spec)),
      { numRuns: 200 },
    )
    fc.assert(
      fc.property(admitted(structuralSchema(TenantStatus)), (status) => void v.parse(TenantStatus, status)),
      { numRuns: 50 },
    )
  })
})

describe('the converter', () => {
  const sample = v.pipe(
    v.object({
      name: matching(/^[a-z]+$/, 5, 'Name.'),
      size: integer(1, 9, 'Size.'),
      ratio: v.pipe(v.number(), v.minValue(0.5)),
      at: v.optional(time('At.')),
      kind: v.optional(v.picklist(['a', 'b']), 'a'),
      never: v.literal(false),
      gone: v.nullable(v.object({ text: text(3, 'Text.') })),
      tags: v.optional(v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(4), atomicList()), ['x']),
      parts: v.pipe(v.array(v.object({ id: v.string() })), listMap('id')),
      labels: v.record(v.string(), v.boolean()),
      some: v.pipe(v.string(), v.minLength(1)),
    }),
    v.title('Sample'),
    rules({ rule: 'self.size > 1', message: 'size' }),
    rules({ rule: 'self.size < 9', message: 'size too' }),
  )

  it('writes every construct in use', () => {
    expect(structuralSchema(sample)).toEqual({
      type: 'object',
      title: 'Sample',
      properties: {
        name: { type: 'string', pattern: '^[a-z]+$', maxLength: 5, description: 'Name.' },
        size: { type: 'integer', minimum: 1, maximum: 9, description: 'Size.' },
        ratio: { type: 'number', minimum: 0.5 },
        at: { type: 'string', format: 'date-time', maxLength: 35, description: 'At.' },
        kind: { type: 'string', enum: ['a', 'b'], default: 'a' },
        never: { type: 'boolean', enum: [false] },
        gone: {
          type: 'object',
          nullable: true,
          properties: { text: { type: 'string', maxLength: 3, description: 'Text.' } },
          required: ['text'],
        },
        tags: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: 4,
          'x-kubernetes-list-type': 'atomic',
          default: ['x'],
        },
        parts: {
          type: 'array',
          items: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['id'],
        },
        labels: { type: 'object', additionalProperties: { type: 'boolean' } },
        some: { type: 'string', minLength: 1 },
      },
      required: ['name', 'size', 'ratio', 'never', 'gone', 'parts', 'labels', 'some'],
      'x-kubernetes-validations': [
        { rule: 'self.size > 1', message: 'size' },
        { rule: 'self.size < 9', message: 'size too' },
      ],
    })
  })

  const nested = (schema: v.GenericSchema) => v.object({ outer: v.array(v.object({ inner: schema })) })
  it.each<[string, v.GenericSchema]>([
    ['union', v.union([v.string(), v.number()])],
    ['nullish', v.nullish(v.string())],
    ['any', v.any()],
    ['unknown', v.unknown()],
    ['date', v.date()],
    ['bigint', v.bigint()],
    ['tuple', v.tuple([v.string()])],
    ['intersect', v.intersect([v.object({}), v.object({})])],
    ['loose_object', v.looseObject({})],
    ['lazy', v.lazy(() => v.string())],
    ['custom', v.custom<string>(() => true)],
    ['record', v.record(v.pipe(v.string(), v.regex(/a/)), v.string())],
    ['picklist', v.picklist([1, 2])],
    ['literal', v.literal(1)],
    ['transform', v.pipe(v.string(), v.transform(Number))],
    [
      'check',
      v.pipe(
        v.string(),
        v.check((value) => value !== 'x'),
      ),
    ],
    ['max_length', v.pipe(v.string(), v.maxLength(3))],
    ['min_length', v.pipe(v.string(), v.minLength(2))],
    ['email', v.pipe(v.string(), v.email())],
    ['integer', v.pipe(v.string(), v.integer() as never)],
    ['flags', v.pipe(v.string(), v.regex(/a/i))],
    ['computed default', v.optional(v.string(), () => 'now')],
  ])('refuses %s and names the place', (construct, schema) => {
    const convert = () => structuralSchema(nested(schema))
    expect(convert).toThrow(UnsupportedSchemaError)
    expect(convert).toThrow(new RegExp(`^outer\\[\\]\\.inner: .*${construct}`))
  })

  it('closes the objects of chart values and takes no others there', () => {
    const closed = jsonSchema(v.strictObject({ a: v.strictObject({}) }))
    expect(closed).toMatchObject({
      additionalProperties: false,
      properties: { a: { additionalProperties: false } },
    })
    expect(() => jsonSchema(v.object({}))).toThrow(UnsupportedSchemaError)
    expect(() => jsonSchema(v.strictObject({ a: v.nullable(v.string()) }))).toThrow(UnsupportedSchemaError)
  })
})

describe('the values of the tenant chart', () => {
  const all = nodes(jsonSchema(TenantValues), 'values')

  it('describe every key and refuse others', () => {
    expect(all.filter(({ schema }) => schema.description === undefined).map(({ path }) => path)).toEqual([])
    const open = all.filter(({ schema }) => schema.type === 'object' && schema.properties !== undefined)
    expect(open.filter(({ schema }) => schema.additionalProperties !== false)).toEqual([])
  })

  it('have no key that could hold secret material', () => {
    const suspicious = /passw|secret|token|credential|private|apikey|api_key|authd/i
    const texts = all.filter(({ path, schema }) => schema.type === 'string' && suspicious.test(path))
    const references =
      /(Ref|SecretRef)\.(name|key|usernameKey|passwordKey)$|imagePullSecrets\[\]\.name$|tls\.secretName$|^values\.secretChecksums\.[a-z]+$/
    expect(texts.filter(({ path }) => !references.test(path)).map(({ path }) => path)).toEqual([])
    expect(texts.length).toBeGreaterThan(8)
    for (const { schema } of texts) {
      expect(schema.pattern).toBeDefined()
      // What stands in such a field is a name: material with the alphabet of base64url or PEM does not fit a Secret's name.
      if (schema.description?.startsWith('Name of the Secret'))
        expect('Zm9v_YmFy').not.toMatch(new RegExp(schema.pattern ?? ''))
    }
  })

  it.each([
    'https://user:pass@llm.example',
    'https://user@llm.example/v1',
    'https:user:pass@llm.example',
    'https:///user:pass@llm.example',
    'https:\\\\user:pass@llm.example/x',
    '//user:pass@llm.example',
  ])('and the resource refuse the credentials in %s', (baseUrl) => {
    const schema = TenantValues.entries.llm
    expect(v.safeParse(schema, { baseUrl }).success).toBe(false)
    expect(v.safeParse(TenantSpec.entries.config.entries.llm, { baseUrl }).success).toBe(false)
  })

  it.each(['', 'https://llm.example', 'https://llm.example/v1/@model?at=@', 'http://127.0.0.1:9/x'])(
    'take the address "%s"',
    (baseUrl) => {
      expect(v.safeParse(TenantValues.entries.llm, { baseUrl }).success).toBe(true)
    },
  )
})
