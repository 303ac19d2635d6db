import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { CredentialSource, Credentials } from './credentials.ts'
import { errorOfAnswer, errorWithoutAnswer } from './errors.ts'
import { isKubeError } from './port.ts'
import type { KubeError } from './port.ts'

export const DEFAULT_TIMEOUT_MS = 15_000

export type Call = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly onBytes?: () => void
}

export type Transport = {
  /** The body of a 2xx answer. Fails with KubeError; a 401 is tried again once with credentials read anew. */
  send(call: Call): Promise<string>
  /** The open body of a 200 answer, on a connection of its own. The deadline ends with the headers. */
  open(call: Call): Promise<IncomingMessage>
  close(): void
}

export function createTransport(credentials: CredentialSource, userAgent: string): Transport {
  const closing = new AbortController()

  const attempt = async <T>(call: Call, pooled: boolean, read: Reader<T>): Promise<T> =>
    exchange(call, await credentials.current(), { pooled, userAgent, closed: closing.signal }, read)

  const withFreshCredentials = async <T>(call: Call, pooled: boolean, read: Reader<T>): Promise<T> => {
    try {
      return await attempt(call, pooled, read)
    } catch (error) {
      if (!isKubeError(error) || error.status !== 401) throw error
      credentials.reload()
      return attempt(call, pooled, read)
    }
  }
  return {
    send: (call) => withFreshCredentials(call, true, readWhole),
    open: (call) => withFreshCredentials(call, false, keepOpen),
    close: () => {
      closing.abort()
      credentials.close()
    },
  }
}

type Reader<T> = (response: IncomingMessage, call: Call) => Promise<T>
type Way = { readonly pooled: boolean; readonly userAgent: string; readonly closed: AbortSignal }

/** One request and its answer under one deadline. Whatever goes wrong becomes a KubeError. */
async function exchange<T>(call: Call, to: Credentials, way: Way, read: Reader<T>): Promise<T> {
  const what = `${call.method} ${call.path.split('?', 1)[0]}`
  const signals = call.signal === undefined ? [way.closed] : [way.closed, call.signal]
  if (signals.some((signal) => signal.aborted)) throw errorWithoutAnswer(what, 'Aborted')
  let request: ClientRequest | undefined
  let fault: KubeError | undefined
  const fail = (reason: 'Timeout' | 'Aborted'): void => {
    fault ??= errorWithoutAnswer(what, reason)
    request?.destroy(fault)
  }
  const abort = (): void => fail('Aborted')
  const timer = setTimeout(() => fail('Timeout'), call.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  for (const signal of signals) signal.addEventListener('abort', abort, { once: true })
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body))
      request = start(call, body?.length, to, way)
      request.once('response', resolve)
      request.on('error', reject)
      request.end(body)
    })
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return await read(response, call)
    throw errorOfAnswer(what, status, response.headers, await readWhole(response, call))
  } catch (error) {
    if (fault !== undefined) throw fault
    throw isKubeError(error) ? error : errorWithoutAnswer(what, 'ConnectionFailed', error)
  } finally {
    clearTimeout(timer)
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}

function start(call: Call, length: number | undefined, to: Credentials, way: Way): ClientRequest {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'user-agent': way.userAgent,
    ...to.headers,
  }
  if (length !== undefined) {
    headers['content-type'] = call.contentType ?? 'application/json'
    // Node frames the body of a DELETE by nothing else.
    headers['content-length'] = String(length)
  }
  const prefix = to.server.pathname.replace(/\/$/, '')
  const options = {
    method: call.method,
    host: to.server.hostname.replace(/^\[|\]$/g, ''),
    port: to.server.port === '' ? undefined : Number(to.server.port),
    path: `${prefix}${call.path}`,
    headers,
    agent: way.pooled ? to.pool : to.dedicated,
  }
  return to.server.protocol === 'http:' ? httpRequest(options) : httpsRequest(options)
}

async function readWhole(response: IncomingMessage, call: Call): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) {
    call.onBytes?.()
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function keepOpen(response: IncomingMessage): Promise<IncomingMessage> {
  return response
}
