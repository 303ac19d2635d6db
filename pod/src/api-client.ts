import { timestamp } from '@service/domain'
import type { Clock } from '@service/domain'
import { Problem } from '@service/wire'
import * as v from 'valibot'
import type { RotatingFile } from './files.ts'
import { createHttpClient } from './http.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

/** What stands between a workload and the API; each has a consequence of its own. */
export type ApiFailure =
  | 'unreachable'
  | 'unavailable'
  | 'unauthorized'
  | 'too_large'
  | 'failing'
  | 'rejecting'
  | 'invalid_answer'
  | 'token_unreadable'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly failure: ApiFailure
  readonly retryAfterMs: number | undefined
  constructor(failure: ApiFailure, message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.failure = failure
    this.retryAfterMs = retryAfterMs
  }
}

/** Calls routes of the API with a bearer token. Every call rejects with an ApiError. */
export type ApiClient = {
  call: <const S extends v.GenericSchema>(
    route: { readonly method: string; readonly path: string },
    /** Of the answer's body; an answer without one (204) is `null`. */
    schema: S,
    request?: ApiRequest,
  ) => Promise<v.InferOutput<S>>
  close: () => void
}
export type ApiRequest = {
  /** JSON text. */
  readonly body?: string
  readonly query?: string
  /** In place of the token of the file. */
  readonly token?: string
  /** Gives this request up, as `abort` gives up all. */
  readonly signal?: AbortSignal
}

export type ApiClientOptions = {
  readonly baseUrl: URL
  readonly token: RotatingFile
  readonly ca: RotatingFile | undefined
  readonly clock: Clock
  readonly timeoutMs: number
  /** Gives up requests that are in flight. */
  readonly abort: AbortSignal
}

const TOKEN = /^[\x21-\x7E]{1,8192}$/

export function createApiClient(options: ApiClientOptions): ApiClient {
  const http = createHttpClient()
  return {
    call: async (route, schema, request = {}) => {
      const { body, query = '', signal } = request
      const token = request.token ?? (await readToken(options))
      const base = options.baseUrl.href.replace(/\/$/, '')
      const answer = await http
        .send(
          {
            method: methodOf(route.method),
            url: new URL(`${base}${route.path}${query}`),
            headers: {
              accept: 'application/json',
              authorization: `Bearer ${token}`,
              ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            },
            ...(body === undefined ? {} : { body }),
            timeoutMs: options.timeoutMs,
            signal: signal === undefined ? options.abort : AbortSignal.any([options.abort, signal]),
          },
          await readCa(options),
        )
        .catch((error: unknown) => {
          throw new ApiError('unreachable', `the API does not answer: ${reasonOf(error)}`, undefined, error)
        })
      if (answer.status === 401 || answer.status === 403) options.token.forget()
      if (answer.status !== 200 && answer.status !== 204) throw failureOf(answer, options.clock())
      return readAnswer(schema, answer.status === 204 ? 'null' : answer.text)
    },
    close: () => http.close(),
  }
}

function methodOf(method: string): HttpRequest['method'] {
  if (method === 'GET' || method === 'POST' || method === 'PUT') return method
  throw new Error(`no workload sends ${method}`)
}

async function readToken({ token }: ApiClientOptions): Promise<string> {
  const text = await token.read().catch((error: unknown) => {
    throw new ApiError('token_unreadable', `the token cannot be read: ${reasonOf(error)}`, undefined, error)
  })
  if (!TOKEN.test(text)) throw new ApiError('token_unreadable', 'the file of the token holds no token')
  return text
}

async function readCa({ ca }: ApiClientOptions): Promise<string | undefined> {
  return ca?.read().catch((error: unknown) => {
    throw new ApiError(
      'unreachable',
      `the CA of the API cannot be read: ${reasonOf(error)}`,
      undefined,
      error,
    )
  })
}

function readAnswer<const S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ApiError('invalid_answer', 'the API answered something that is not JSON', undefined, error)
  }
  const result = v.safeParse(schema, body)
  if (result.success) return result.output
  const where = v.getDotPath(result.issues[0]) ?? 'its root'
  throw new ApiError('invalid_answer', `the answer of the API is not understood at ${where}`)
}

const FAILURES: Readonly<Record<number, ApiFailure>> = {
  401: 'unauthorized',
  403: 'unauthorized',
  408: 'unavailable',
  413: 'too_large',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

function failureOf({ status, headers, text }: HttpAnswer, now: Date): ApiError {
  const failure = FAILURES[status] ?? (status >= 500 ? 'failing' : 'rejecting')
  const code = problemCode(text)
  const what = code === undefined ? String(status) : `${status} ${code}`
  return new ApiError(failure, `the API answered ${what}`, retryAfterMs(headers['retry-after'], now))
}

function problemCode(text: string): string | undefined {
  try {
    const result = v.safeParse(v.pick(Problem, ['code']), JSON.parse(text))
    return result.success ? result.output.code : undefined
  } catch {
    return undefined
  }
}

const MAX_RETRY_AFTER_MS = 5 * 60_000

/** `Retry-After` in both of its forms: seconds, or a date. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  const millis = /^\d{1,9}$/.test(header.trim())
    ? Number(header) * 1_000
    : Date.parse(header) - Date.parse(timestamp(now))
  return Number.isNaN(millis) ? undefined : Math.min(Math.max(millis, 0), MAX_RETRY_AFTER_MS)
}

/** What went wrong in a few words that hold no secret: the code of a system error, or its message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'it took too long'
  const { code } = error as NodeJS.ErrnoException
  return code ?? error.message
}
