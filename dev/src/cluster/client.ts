import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { parse } from 'yaml'

/** An answer of the API server other than 2xx; `status` is the HTTP status, `reason` its machine word. */
export class ApiError extends Error {
  readonly status: number
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.reason = reason
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type PatchType = 'merge' | 'strategic-merge' | 'apply'

export interface CallOptions {
  body?: unknown
  /** Content type of a PATCH; default merge. */
  patch?: PatchType
  timeoutMs?: number
  signal?: AbortSignal
}

/** A small client of one API server over kept connections: what the development tools need and no more. */
export interface ApiClient {
  server: string
  /** Rejects with ApiError for a refusal, with another Error when the server cannot be reached in time. */
  call: <T = unknown>(method: Method, path: string, options?: CallOptions) => Promise<T>
  /** Like a GET, but null for 404. */
  find: <T = unknown>(path: string) => Promise<T | null>
  /** The open response of a watch; the caller reads and destroys it. */
  stream: (path: string, idleMs: number, signal: AbortSignal) => Promise<IncomingMessage>
  close: () => void
}

export interface Credentials {
  server: string
  ca?: string
  token?: string
  cert?: string
  key?: string
}

/** Reads the current context of a kubeconfig (embedded data or files; token or client certificate). */
export async function readKubeconfig(path: string): Promise<Credentials> {
  const file = parse(await readFile(path, 'utf8')) as Kubeconfig
  const context = file.contexts?.find((each) => each.name === file['current-context'])?.context
  const cluster = file.clusters?.find((each) => each.name === context?.cluster)?.cluster
  const user = file.users?.find((each) => each.name === context?.user)?.user
  if (cluster === undefined || user === undefined) throw new Error(`${path} has no usable current context`)
  const part = async (data: string | undefined, name: string | undefined): Promise<string | undefined> => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
    return name === undefined ? undefined : readFile(name, 'utf8')
  }
  const ca = await part(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = await part(user['client-certificate-data'], user['client-certificate'])
  const key = await part(user['client-key-data'], user['client-key'])
  return {
    server: cluster.server,
    ...(ca === undefined ? {} : { ca }),
    ...(user.token === undefined ? {} : { token: user.token }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

interface Kubeconfig {
  'current-context'?: string
  contexts?: Array<{ name: string; context: { cluster: string; user: string } }>
  clusters?: Array<{
    name: string
    cluster: { server: string; 'certificate-authority'?: string; 'certificate-authority-data'?: string }
  }>
  users?: Array<{
    name: string
    user: {
      token?: string
      'client-certificate'?: string
      'client-certificate-data'?: string
      'client-key'?: string
      'client-key-data'?: string
    }
  }>
}

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

export function connectApi(credentials: Credentials): ApiClient {
  const { server, token, ...tls } = credentials
  const agent = new Agent({ ...tls, keepAlive: true, maxSockets: 64 })
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  const open = (
    method: Method,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
    idleMs: number,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const url = new URL(path, server)
      const secure = url.protocol === 'https:'
      const options = {
        method,
        headers: { accept: 'application/json', 'user-agent': 'service-dev', ...authorization, ...headers },
        timeout: idleMs,
        ...(signal === undefined ? {} : { signal }),
      }
      const request = secure
        ? httpsRequest(url, { ...options, agent }, resolve)
        : httpRequest(url, options, resolve)
      request.on('timeout', () =>
        request.destroy(new Error(`${method} ${url.pathname}: no answer in ${idleMs} ms`)),
      )
      request.on('error', reject)
      request.end(body)
    })

  const call = async <T>(method: Method, path: string, options: CallOptions = {}): Promise<T> => {
    const type = method === 'PATCH' ? PATCH_TYPES[options.patch ?? 'merge'] : 'application/json'
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    const headers: Record<string, string> =
      body === undefined ? {} : { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }
    const response = await open(method, path, headers, body, options.timeoutMs ?? 15_000, options.signal)
    const text = await readText(response)
    return answer(response, text, `${method} ${path}`) as T
  }

  return {
    server,
    call,
    find: <T>(path: string) =>
      call<T>('GET', path).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      }),
    stream: async (path, idleMs, signal) => {
      const response = await open('GET', path, {}, undefined, idleMs, signal)
      if (response.statusCode === 200) return response
      answer(response, await readText(response), `GET ${path}`)
      throw new Error(`GET ${path}: unexpected status ${response.statusCode}`)
    },
    close: () => agent.destroy(),
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function answer(response: IncomingMessage, text: string, what: string): unknown {
  const status = response.statusCode ?? 0
  const json = (response.headers['content-type'] ?? '').startsWith('application/json')
  const body: unknown = json && text !== '' ? JSON.parse(text) : text
  if (status >= 200 && status < 300) return body
  const detail = (json ? body : {}) as { message?: string; reason?: string }
  throw new ApiError(
    status,
    detail.reason ?? '',
    `${what}: ${status} ${detail.message ?? text.slice(0, 200)}`,
  )
}
