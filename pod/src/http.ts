import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  /** Gives up at once. */
  readonly signal: AbortSignal
}
export type HttpAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const MAX_ANSWER = 8 * 1024 * 1024

/** Keep-alive connections to one server. `ca` replaces the certificate authorities of the system. */
export type HttpClient = {
  send: (request: HttpRequest, ca: string | undefined) => Promise<HttpAnswer>
  close: () => void
}

/**
 * A client over node's own HTTP, since `fetch` takes no certificate authority. Rejects when there is no whole answer
 * within the time; redirects are answers like others.
 */
export function createHttpClient(): HttpClient {
  let agent:
    | { readonly ca: string | undefined; readonly secure: boolean; readonly pool: HttpAgent }
    | undefined
  const agentFor = (secure: boolean, ca: string | undefined): HttpAgent => {
    if (agent !== undefined && agent.ca === ca && agent.secure === secure) return agent.pool
    agent?.pool.destroy()
    const options = { keepAlive: true, maxSockets: 4 }
    const pool = secure
      ? new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) })
      : new HttpAgent(options)
    agent = { ca, secure, pool }
    return pool
  }
  return {
    send: async (request, ca) => {
      const secure = request.url.protocol === 'https:'
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
      const response = await respond(request, agentFor(secure, ca), secure, signal)
      return { status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) }
    },
    close: () => agent?.pool.destroy(),
  }
}

function respond(
  { method, url, headers, body }: HttpRequest,
  agent: HttpAgent,
  secure: boolean,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : Buffer.from(body)
    const length = payload === undefined ? {} : { 'content-length': String(payload.length) }
    const options = { method, agent, signal, headers: { ...headers, ...length } }
    const request = (secure ? httpsRequest : httpRequest)(url, options, resolve)
    request.once('error', reject)
    request.end(payload)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ANSWER) throw new Error(`the answer is larger than ${MAX_ANSWER} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
