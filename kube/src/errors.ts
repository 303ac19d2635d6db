import type { IncomingHttpHeaders } from 'node:http'
import { KubeError } from './port.ts'

type StatusBody = {
  readonly kind?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown } | null
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  // No Status object: not a missing object but a kind that the server does not serve.
  404: 'KindNotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

/** The error behind an answer other than 2xx; a body that is not a Status object is only quoted. */
export function errorOfAnswer(
  what: string,
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
): KubeError {
  const parsed = statusOf(body)
  const reason =
    typeof parsed?.reason === 'string' && parsed.reason !== ''
      ? parsed.reason
      : (REASONS[status] ?? 'Unknown')
  const message = typeof parsed?.message === 'string' ? parsed.message : body.trim().slice(0, 300)
  const retryAfter = retryAfterOf(headers['retry-after'], parsed?.details?.retryAfterSeconds)
  return new KubeError(`${what}: ${status} ${reason}: ${message}`, status, reason, retryAfter)
}

/** The error that an ERROR event of a watch carries. */
export function errorOfStatus(what: string, body: unknown): KubeError {
  const status = typeof body === 'object' && body !== null ? (body as StatusBody & { code?: unknown }) : {}
  const code = 'code' in status && typeof status.code === 'number' ? status.code : 500
  return errorOfAnswer(what, code, {}, JSON.stringify(status))
}

/** A failure without an answer; `reason` tells which. */
export function errorWithoutAnswer(
  what: string,
  reason: 'ConnectionFailed' | 'Timeout' | 'Aborted' | 'BadAnswer' | 'BadConfiguration' | 'Silent',
  cause?: unknown,
): KubeError {
  const detail = cause instanceof Error ? `: ${messageOf(cause)}` : ''
  return new KubeError(`${what}: ${reason}${detail}`, 0, reason, null, cause)
}

/** A refused dual-stack connection is an AggregateError with an empty message: name its parts. */
function messageOf(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((part) => (part instanceof Error ? part.message : String(part))).join(', ')
  }
  return error.message
}

function statusOf(body: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

function retryAfterOf(header: string | undefined, detail: unknown): number | null {
  const seconds = Number(header ?? detail)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : null
}
