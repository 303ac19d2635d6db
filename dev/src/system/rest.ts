import { lookup } from 'node:dns'
import { request } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { Connection } from './connection.ts'

export class RestError extends Error {
  readonly status: number
  readonly body: unknown
  constructor(what: string, status: number, body: unknown) {
    super(`${what} answered ${status}: ${JSON.stringify(body)}`)
    this.status = status
    this.body = body
  }
}

export type RestSession = {
  call<T>(method: string, path: string, body?: unknown): Promise<T>
  /** `name=value` of the session's cookie. */
  cookie(): string
}
export type Credentials = { readonly email: string; readonly password: string }

const TIMEOUT_MS = 30_000

/** Signs in as the administrator of `connection.json`. */
export const signIn = (connection: Pick<Connection, 'mssp_url' | 'admin'>): Promise<RestSession> =>
  signInAt(connection.mssp_url, connection.admin)

/** Signs in at a host of either side; every later call carries the cookie and the origin. */
export async function signInAt(origin: string, credentials: Credentials): Promise<RestSession> {
  let cookie = ''
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await send(`${origin}${path}`, method, { origin, cookie }, text)
    cookie = answer.cookie ?? cookie
    const parsed: unknown = answer.text === '' ? null : JSON.parse(answer.text)
    if (answer.status >= 400) throw new RestError(`${method} ${path}`, answer.status, parsed)
    return parsed as T
  }
  await call('POST', '/api/auth/login', credentials)
  return { call, cookie: () => cookie }
}

type Answer = { readonly status: number; readonly cookie: string | undefined; readonly text: string }

function send(url: string, method: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const options = {
    method,
    headers: { ...headers, ...json },
    lookup: local,
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  } as const
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          cookie: response.headers['set-cookie']?.[0]?.split(';')[0],
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Every name below `localhost` is this machine, also where the resolver does not know it. */
const local: LookupFunction = (name, options, done) =>
  lookup(name.endsWith('.localhost') ? 'localhost' : name, options, done)
