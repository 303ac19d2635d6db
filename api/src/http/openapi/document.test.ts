import { Validator } from '@seriousme/openapi-schema-validator'
import { ERRORS } from '@service/domain'
import { OpenApi, problemsOf, type Route, ROUTES } from '@service/wire'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { openApiDocument } from './document.ts'

type Operation = Readonly<Record<string, unknown>> & {
  readonly operationId: string
  readonly parameters: readonly { readonly name?: string; readonly $ref?: string }[]
  readonly responses: Readonly<Record<string, unknown>>
}
const document = JSON.parse(JSON.stringify(openApiDocument('1.2.3')))
const routes = Object.entries(ROUTES) as [string, Route][]
const operations: readonly (readonly [string, string, Operation])[] = Object.entries(
  document.paths as Record<string, Record<string, Operation>>,
).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => [path, method, operation] as const),
)
const operationOf = (id: string): Operation | undefined =>
  operations.find(([, , { operationId }]) => operationId === id)?.[2]

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1, and says the version of the control plane', async () => {
    const { valid, errors } = await new Validator().validate(document)
    expect(errors ?? []).toEqual([])
    expect(valid).toBe(true)
    expect(v.parse(OpenApi, document).info.version).toBe('1.2.3')
  })

  test('has every route once, under its id, and no other', () => {
    const said = operations.map(([path, method, { operationId }]) => `${operationId}: ${method} ${path}`)
    const known = routes.map(([id, { method, path }]) => `${id}: ${method.toLowerCase()} ${path}`)
    expect(said.toSorted()).toEqual(known.toSorted())
  })

  test('points nowhere in vain, and shares nothing that nobody points at', () => {
    const pointers = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^/"]+)\/([^"]+)"/g)]
    for (const [pointer, part = '', name = ''] of pointers)
      expect(document.components[part], pointer).toHaveProperty([name])
    const used = new Set(pointers.map(([, part, name]) => `${part}/${name}`))
    for (const part of ['schemas', 'responses', 'parameters', 'headers'])
      for (const name of Object.keys(document.components[part])) expect(used).toContain(`${part}/${name}`)
  })

  test.each(routes)('%s: says who may call it and how it can fail', (id, route) => {
    const operation = operationOf(id)
    const { kind } = route.access
    expect(operation?.['x-audience']).toBe(kind)
    expect(operation?.security).toEqual(
      kind === 'public' ? [] : [{ [schemeOf(kind)]: expect.anything() as unknown }],
    )
    const statuses = problemsOf(route).map((code) => String(ERRORS[code].status))
    expect(Object.keys(operation?.responses ?? {})).toEqual(
      expect.arrayContaining([String(route.status), ...statuses]),
    )
    expect(operation?.requestBody !== undefined).toBe(route.body !== undefined)
    const declared = (operation?.parameters ?? []).flatMap(({ name }) => name ?? [])
    for (const [, name] of route.path.matchAll(/\{([a-z_]+)\}/g)) expect(declared).toContain(name)
  })
  const schemeOf = (kind: string) =>
    kind === 'adapter' ? 'adapterToken' : kind === 'worker' ? 'workerToken' : 'session'

  test('carries limits of bodies and of members, defaults, and lists of a query', () => {
    const events = operationOf('adapter.events')?.requestBody
    expect(events).toMatchObject({ required: true, 'x-max-bytes': 4 * 1024 * 1024 })
    const { Heartbeat, EventBatch } = document.components.schemas
    expect(Heartbeat).toMatchObject({
      additionalProperties: false,
      properties: { version: { minLength: 1, maxLength: 64 } },
    })
    expect(EventBatch.properties.events).toMatchObject({
      maxItems: 500,
      items: { $ref: '#/components/schemas/AdapterEvent' },
    })
    expect(operationOf('mssp.audit.list')?.parameters).toMatchObject([
      { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 } },
      { name: 'cursor' },
      { name: 'total', schema: { type: 'boolean', default: false } },
      { name: 'since' },
      { name: 'until' },
      { name: 'actor', schema: { type: 'array', items: { type: 'string' } } },
      { name: 'action' },
      { name: 'tenant', schema: { type: 'array', items: { format: 'uuid' } } },
      { $ref: '#/components/parameters/ServiceTenant' },
      { $ref: '#/components/parameters/RequestId' },
    ])
  })

  test('names what proxy mode adds: its refusal, and the tenant of a request', () => {
    const tells = (id: string) => {
      const { parameters = [], responses = {} } = operationOf(id) ?? {}
      return [
        JSON.stringify(responses['403'] ?? null).includes('untrusted_proxy'),
        parameters.some(({ $ref }) => $ref?.endsWith('/ServiceTenant') === true),
      ]
    }
    expect(tells('mssp.tenants.list')).toEqual([true, true])
    expect(tells('tenant.me')).toEqual([true, false])
    expect(tells('auth.assume-tenant')).toEqual([false, false])
    expect(tells('adapter.config')).toEqual([false, false])
  })

  test('names the idempotency key where one is taken, and the forms of an export', () => {
    const takes = (id: string) =>
      operationOf(id)?.parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey') === true)
    expect([takes('mssp.tenants.create'), takes('mssp.users.update'), takes('auth.login')]).toEqual([
      true,
      false,
      false,
    ])
    expect(operationOf('tenant.audit.list')?.responses['200']).toMatchObject({
      content: { 'application/json': {}, 'application/x-ndjson': {}, 'text/csv': {} },
    })
  })
})
