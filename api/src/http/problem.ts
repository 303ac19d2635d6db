import { ERRORS, ServiceError } from '@service/domain'
import { type Problem, PROBLEM_MEDIA_TYPE, problemType } from '@service/wire'

export type ProblemPlace = { readonly instance: string; readonly requestId: string }

const INTERNAL = 'Something went wrong on our side. The request id names the entry in the log.'
const DEFAULT_RETRY_SECONDS = 5

/** RFC 9457 response (decision 1.3). Only an expected failure speaks for itself; anything else stays in the log. */
export function problemResponse(error: unknown, place: ProblemPlace): Response {
  const expected = error instanceof ServiceError
  const code = expected ? error.code : 'internal_error'
  const { status, title } = ERRORS[code]
  const { retryAfter, ...members } = expected ? error.extras : {}
  const problem: Problem = {
    type: problemType(code),
    title,
    status,
    detail: expected && code !== 'internal_error' ? error.message : INTERNAL,
    instance: place.instance,
    code,
    request_id: place.requestId,
    ...(members.errors === undefined ? {} : { errors: [...members.errors] }),
    ...(members.current_state === undefined ? {} : { current_state: members.current_state }),
    ...(members.locked_until === undefined ? {} : { locked_until: members.locked_until }),
  }
  const headers = new Headers({ 'content-type': PROBLEM_MEDIA_TYPE })
  if (status === 429 || status === 503)
    headers.set('retry-after', String(Math.max(1, Math.ceil(retryAfter ?? DEFAULT_RETRY_SECONDS))))
  if (code === 'invalid_token') headers.set('www-authenticate', 'Bearer')
  return new Response(JSON.stringify(problem), { status, headers })
}
