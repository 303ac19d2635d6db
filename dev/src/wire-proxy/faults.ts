/** What a request wants: a collection at once, a collection's changes, or anything else. */
export type RequestKind = 'list' | 'watch' | 'other'

/** A request as the rules see it; `resource` is the plural, null for paths that name none (`/readyz`). */
export type WireRequest = {
  readonly kind: RequestKind
  readonly resource: string | null
  readonly token: string | null
}

/**
 * What goes wrong. `reset`, `blackhole`, `error-event` and `close` also strike the watches that are open when the rule
 * is switched on; `truncate`, `garbage` and `close` strike at the next event that the server sends.
 */
export type WireFault =
  /** The connection ends by RST. */
  | { readonly type: 'reset' }
  /** From then on the connection carries no byte in either direction, also after the rule has ended. */
  | { readonly type: 'blackhole' }
  /** A Status object with this code instead of the server's answer. */
  | {
      readonly type: 'status'
      readonly code: number
      readonly reason: string
      readonly retryAfterSeconds?: number
    }
  /** 401 for this bearer token, whatever it asks. */
  | { readonly type: 'refuse-token'; readonly token: string }
  /** The request reaches the server so much later. */
  | { readonly type: 'delay'; readonly ms: number }
  /** A watch's first and only line is an ERROR event with this Status. */
  | { readonly type: 'error-event'; readonly code: number; readonly reason: string }
  /** Half of a watch's next line, then the end. */
  | { readonly type: 'truncate' }
  /** A line that is no JSON in the place of a watch's next line; the stream stays open. */
  | { readonly type: 'garbage' }
  /** A watch ends as the server would end it, after so many lines. */
  | { readonly type: 'close'; readonly afterLines: number }

/** Which requests a fault strikes; without `kinds` or `resource`, all of them. */
export type FaultRule = {
  readonly kinds?: readonly RequestKind[]
  readonly resource?: string
  readonly fault: WireFault
}

/** Sub-resources of a namespace, which look like collections in it. */
const OF_A_NAMESPACE = new Set(['status', 'finalize'])

/** Reads a request of the Kubernetes API: `/api/v1/…` or `/apis/{group}/{version}/…`. */
export function describeRequest(method: string, url: string, authorization?: string): WireRequest {
  const { pathname, searchParams } = new URL(url, 'https://server.invalid')
  const token = authorization?.startsWith('Bearer ') === true ? authorization.slice('Bearer '.length) : null
  const parts = pathname.split('/').filter((part) => part !== '')
  const path = parts[0] === 'api' ? parts.slice(2) : parts[0] === 'apis' ? parts.slice(3) : []
  const inNamespace = path[0] === 'namespaces' && path[2] !== undefined && !OF_A_NAMESPACE.has(path[2])
  const [resource, name] = inNamespace ? path.slice(2) : path
  if (resource === undefined) return { kind: 'other', resource: null, token }
  const watch = ['true', '1'].includes(searchParams.get('watch') ?? '')
  const collection = method === 'GET' && name === undefined
  return { kind: watch ? 'watch' : collection ? 'list' : 'other', resource, token }
}

/** True when the rule is meant for this request. */
export function strikes({ kinds, resource, fault }: FaultRule, request: WireRequest): boolean {
  if (kinds !== undefined && !kinds.includes(request.kind)) return false
  if (resource !== undefined && resource !== request.resource) return false
  if (fault.type === 'refuse-token') return request.token === fault.token
  return request.kind === 'watch' || !onlyForWatches(fault)
}

const onlyForWatches = ({ type }: WireFault): boolean =>
  type === 'error-event' || type === 'truncate' || type === 'garbage' || type === 'close'

/** The body of a refusal, as the API server words it. */
export function statusBody(code: number, reason: string): string {
  const message = `the wire proxy says ${reason}`
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message })
}

/** The ERROR event of a watch, with its line feed. */
export const errorEvent = (code: number, reason: string): string =>
  `{"type":"ERROR","object":${statusBody(code, reason)}}\n`
