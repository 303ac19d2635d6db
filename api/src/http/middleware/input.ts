import { BODY, type FieldError, type Principal, ServiceError } from '@service/domain'
import { fieldErrors, type Resource, type Route, strictObject } from '@service/wire'
import type { Context, MiddlewareHandler } from 'hono'
import * as v from 'valibot'
import { readBody, requireJson } from '../body.ts'
import { parseJson } from '../json.ts'
import { queryObject } from '../query.ts'
import type { HttpEnv } from '../types.ts'

const NOTHING = strictObject({})
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export type TargetExists = (
  principal: Principal,
  target: { readonly resource: Resource; readonly id: string },
) => Promise<boolean>

/**
 * Reads and validates query and body: 413, 415, 400, then 422 with the findings of both; but an id of nothing is that
 * first, whatever else is wrong (decision 1.4).
 */
export const readInput =
  (targetExists: TargetExists): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await read(c).catch(async (error: unknown) => {
      const { route, params } = c.get('matched')
      const principal = c.get('identity')?.principal
      if (route.resource === undefined || principal === undefined) throw error
      const target = { resource: route.resource, id: params.id ?? '' }
      throw (await targetExists(principal, target)) ? error : new ServiceError('not_found')
    })
    await next()
  }

async function read(c: Context<HttpEnv>): Promise<void> {
  const { route } = c.get('matched')
  const value = BODILESS.has(c.req.method) ? undefined : await bodyValue(c.req.raw, route)
  const errors: FieldError[] = []
  const query = validated(route.query ?? NOTHING, queryObject(new URL(c.req.url).searchParams), errors)
  const body = value === undefined ? undefined : validated(route.body ?? NOTHING, value, errors)
  if (errors.length > 0) throw new ServiceError('validation_failed', undefined, { errors })
  c.set('query', route.query === undefined ? undefined : query)
  c.set('body', route.body === undefined ? undefined : body)
}

/** `undefined` for an empty body where none is needed. */
async function bodyValue(request: Request, route: Route): Promise<unknown> {
  const bytes = await readBody(request, route.bodyLimit ?? BODY.json)
  if (bytes.byteLength === 0 && route.body === undefined) return undefined
  requireJson(request.headers)
  if (bytes.byteLength === 0) throw new ServiceError('malformed_request', 'A body is needed')
  return parseJson(bytes)
}

function validated(schema: v.GenericSchema, input: unknown, errors: FieldError[]): unknown {
  const result = v.safeParse(schema, input)
  if (!result.success) errors.push(...fieldErrors(result.issues))
  return result.output
}
