import { IDEMPOTENCY } from '@service/domain'
import { acceptsIdempotencyKey, type Route } from '@service/wire'
import type * as v from 'valibot'
import { type Json, jsonSchemaOf } from './schemas.ts'

/** Headers that many operations take. */
export const HEADER_PARAMETERS: Readonly<Record<string, Json>> = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      '1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`, else one is made. Comes back, and stands in log and audit.',
    schema: { type: 'string', examples: ['deploy-42'] },
  },
  Origin: {
    name: 'Origin',
    in: 'header',
    description: 'The origin of this very host. Browsers send it; without it `Referer` has to say the same.',
    schema: { type: 'string', examples: ['https://console.example.com'] },
  },
  ServiceTenant: {
    name: 'X-Service-Tenant',
    in: 'header',
    description:
      'In proxy mode: id or slug of the tenant that this request is about, as `POST /api/auth/assume-tenant` enters one in internal mode, where the header says nothing.',
    schema: { type: 'string', examples: ['acme'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Does the work at most once: within 24 hours the same key with the same body gets the same answer, but no one-time secret again.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: IDEMPOTENCY.keyLength,
      pattern: IDEMPOTENCY.key.source,
    },
  },
}

/** Path and query by their schemas, headers by what the row is. */
export function parametersOf(route: Route, checksOrigin: boolean): readonly Json[] {
  const header = (name: string) => ({ $ref: `#/components/parameters/${name}` })
  return [
    ...entriesOf(route.params).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      schema: jsonSchemaOf(schema, 'input'),
    })),
    ...entriesOf(route.query).map(([name, schema]) => queryParameter(name, schema)),
    ...(acceptsIdempotencyKey(route) ? [header('IdempotencyKey')] : []),
    ...(takesTenantHeader(route) ? [header('ServiceTenant')] : []),
    ...(checksOrigin ? [header('Origin')] : []),
    header('RequestId'),
  ]
}

const takesTenantHeader = ({ access, internalModeOnly }: Route): boolean =>
  access.kind === 'mssp' && internalModeOnly !== true

type WithEntries = v.GenericSchema & { readonly entries: Readonly<Record<string, v.GenericSchema>> }

function entriesOf(schema: v.GenericSchema | undefined): readonly [string, v.GenericSchema][] {
  if (schema === undefined) return []
  if (!('entries' in schema)) throw new Error('parameters stand in an object')
  return Object.entries((schema as WithEntries).entries)
}

function queryParameter(name: string, schema: v.GenericSchema): Json {
  // A repeatable key reads one text or several, and is a list from then on.
  const json = jsonSchemaOf(schema, isRepeatable(schema) ? 'output' : 'input')
  const { default: fallback } = json
  const said = json.type === 'string' || typeof fallback !== 'string' ? fallback : JSON.parse(fallback)
  return {
    name,
    in: 'query',
    required: schema.type !== 'optional',
    schema: fallback === undefined ? json : { ...json, default: said },
  }
}

function isRepeatable(schema: v.GenericSchema): boolean {
  const inner: unknown = 'wrapped' in schema ? schema.wrapped : schema
  return typeof inner === 'object' && inner !== null && 'type' in inner && inner.type === 'union'
}
