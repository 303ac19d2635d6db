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
}

const TIMEOUT_MS = 30_000

/** Signs in as the administrator of `connection.json`; every later call carries the cookie and the origin. */
export async function signIn(connection: Pick<Connection, 'mssp_url' | 'admin'>): Promise<RestSession> {
  const origin = connection.mssp_url
  let cookie = ''
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { origin, cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const set = response.headers.getSetCookie()[0]
    if (set !== undefined) cookie = set.split(';')[0] ?? ''
    const text = await response.text()
    const answer: unknown = text === '' ? null : JSON.parse(text)
    if (!response.ok) throw new RestError(`${method} ${path}`, response.status, answer)
    return answer as T
  }
  await call('POST', '/api/auth/login', connection.admin)
  return { call }
}
