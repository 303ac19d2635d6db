import { type ErrorCode, ERRORS } from '@service/domain'
import {
  acceptsIdempotencyKey,
  PROBLEM_MEDIA_TYPE,
  problemsOf,
  type Route,
  type RouteId,
} from '@service/wire'
import { EXPORT_TYPES } from '../export.ts'
import { type Json, jsonSchemaOf } from './schemas.ts'

export const RESPONSE_HEADERS: Readonly<Record<string, Json>> = {
  RequestId: { description: 'Names the entries in log and audit.', schema: { type: 'string' } },
  Location: { description: 'Path of what was made.', schema: { type: 'string' } },
  IdempotencyReplayed: { description: '`true` when nothing was done again.', schema: { const: 'true' } },
  Link: { description: 'Where an export goes on: `rel="next"`.', schema: { type: 'string' } },
  SetCookie: { description: 'The session cookie, or its end.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 1 } },
  WwwAuthenticate: { description: 'The scheme that is asked for.', schema: { const: 'Bearer' } },
}
const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
const REQUEST_ID = { 'X-Request-Id': header('RequestId') }

/** Answers by status. */
export function responsesOf(id: RouteId, route: Route): Json {
  const { status, otherwise, response } = route
  const success = {
    description: status === 204 ? 'Nothing to say.' : 'Done.',
    headers: headersOf(id, route),
    ...(status === 204 ? {} : { content: contentOf(route) }),
  }
  const body = response === null ? {} : { 'application/json': { schema: jsonSchemaOf(response, 'output') } }
  return {
    [status]: success,
    ...(otherwise === undefined
      ? {}
      : { [otherwise]: { description: 'Not now.', headers: REQUEST_ID, content: body } }),
    ...Object.fromEntries(
      [...byStatus(problemsOf(route))].map(([failed, codes]) => [
        failed,
        { $ref: `#/components/responses/${nameOf(codes)}` },
      ]),
    ),
  }
}

function contentOf({ response, media, exports }: Route): Json {
  if (media !== undefined) return { [media]: { schema: { type: 'string' } } }
  if (response === null) return {}
  const files =
    exports === true ? Object.values(EXPORT_TYPES).map((type) => [type, { schema: { type: 'string' } }]) : []
  return {
    'application/json': { schema: jsonSchemaOf(response, 'output') },
    ...Object.fromEntries(files),
  }
}

function headersOf(id: RouteId, route: Route): Json {
  const creates = route.status === 201 || route.status === 202
  return {
    ...REQUEST_ID,
    ...(creates ? { Location: header('Location') } : {}),
    ...(acceptsIdempotencyKey(route) ? { 'Idempotency-Replayed': header('IdempotencyReplayed') } : {}),
    ...(route.exports === true ? { Link: header('Link') } : {}),
    ...(id === 'auth.login' || id === 'auth.logout' ? { 'Set-Cookie': header('SetCookie') } : {}),
  }
}

/** Each set of problems that an operation answers with one status. */
export function problemResponses(routes: readonly Route[]): Json {
  const sets = routes.flatMap((route) => [...byStatus(problemsOf(route))])
  return Object.fromEntries(sets.map(([status, codes]) => [nameOf(codes), problemResponseOf(status, codes)]))
}

const byStatus = (codes: readonly ErrorCode[]): Map<number, ErrorCode[]> =>
  Map.groupBy(codes, (code) => ERRORS[code].status)

const nameOf = (codes: readonly ErrorCode[]): string => codes.join('.')

function problemResponseOf(status: number, codes: readonly ErrorCode[]): Json {
  const exactly = { properties: { status: { const: status }, code: { enum: codes } } }
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join('; '),
    headers: {
      ...REQUEST_ID,
      ...(status === 429 || status === 503 ? { 'Retry-After': header('RetryAfter') } : {}),
      ...(codes.includes('invalid_token') ? { 'WWW-Authenticate': header('WwwAuthenticate') } : {}),
    },
    content: {
      [PROBLEM_MEDIA_TYPE]: { schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, exactly] } },
    },
  }
}
