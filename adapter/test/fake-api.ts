import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { BODY } from '@service/domain'
import { AdapterEvent, CheckpointUpdate, EventBatch, Heartbeat, PROBLEM_MEDIA_TYPE } from '@service/wire'
import type { Checkpoint, EventResult } from '@service/wire'
import * as v from 'valibot'

export type Fault = 'before' | 'after' | { readonly status: number; readonly retryAfter?: number }
export type FakeOptions = {
  readonly tenantId: string
  readonly batchSize?: number
  readonly minSeverity?: number
  readonly tls?: { readonly key: string; readonly cert: string }
}

/**
 * A fake of the API's adapter routes, in memory: it validates with the wire's schemas and stores each event once.
 * `fault` breaks single requests: the connection before or after the work, or another status.
 * The real API is tested in e2e.
 */
export async function startFakeApi(options: FakeOptions) {
  const maxBody: number = BODY.events
  const state = {
    tokens: new Set(['token-1']),
    events: new Map<string, AdapterEvent>(),
    checkpoint: {
      source: 'wazuh',
      cursor_ts: null,
      cursor_event_id: null,
      batch_seq: 0,
      dropped_total: 0,
    } as Checkpoint,
    beats: [] as Heartbeat[],
    batches: [] as number[],
    duplicates: 0,
    unauthorized: 0,
    fault: (_route: string, _body: string): Fault | undefined => undefined,
    rejects: (_event: AdapterEvent): boolean => false,
    onCheckpoint: (_checkpoint: Checkpoint): void => undefined,
    minSeverity: options.minSeverity ?? 0,
    maxBody,
  }
  const routes = routesOf(state, options)
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    serve(state, routes, request, response).catch(() => response.destroy())
  }
  const server = options.tls === undefined ? createServer(handle) : createTlsServer(options.tls, handle)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    state,
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
export type FakeApi = Awaited<ReturnType<typeof startFakeApi>>
type State = FakeApi['state']
type Routes = Readonly<Record<string, (body: unknown) => object>>

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

async function serve(state: State, routes: Routes, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString('utf8')
  const path = (request.url ?? '').split('?')[0] ?? ''
  const route = `${request.method} ${path.split('/').at(-1)}`
  const fault = state.fault(route, body)
  if (fault === 'before') return void request.socket.destroy()
  const answer = (status: number, content: object, headers = {}) => {
    const type = status === 200 ? 'application/json' : PROBLEM_MEDIA_TYPE
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(JSON.stringify(content))
  }
  if (typeof fault === 'object') {
    const headers = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }
    return answer(fault.status, { status: fault.status }, headers)
  }
  try {
    if (!state.tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')) {
      state.unauthorized += 1
      throw new Refusal(401, 'invalid_token')
    }
    if (Buffer.byteLength(body) > state.maxBody) throw new Refusal(413, 'body_too_large')
    const content = routes[route]?.(body === '' ? undefined : JSON.parse(body))
    if (content === undefined) throw new Refusal(404, 'not_found')
    if (fault === 'after') return void request.socket.destroy()
    answer(200, content)
  } catch (error) {
    const { status, code } = error instanceof Refusal ? error : { status: 422, code: 'validation_failed' }
    answer(status, { status, code })
  }
}

function routesOf(state: State, options: FakeOptions): Routes {
  return {
    'POST health': (body) => {
      const beat = v.parse(Heartbeat, body)
      if (beat.tenant_id !== options.tenantId) throw new Refusal(403, 'forbidden_target')
      state.beats.push(beat)
      return { ok: true, state: 'active', server_time: new Date().toISOString() }
    },
    'GET config': () => ({
      tenant_id: options.tenantId,
      slug: 'acme',
      display_name: 'Acme',
      state: 'active',
      min_severity: state.minSeverity,
      poll_seconds: 5,
      batch_size: options.batchSize ?? 500,
      heartbeat_seconds: 30,
      redaction_version: '1',
    }),
    'GET checkpoint': () => state.checkpoint,
    'PUT checkpoint': (body) => {
      const update = v.parse(CheckpointUpdate, body)
      const { cursor_ts: ts } = update
      const current = state.checkpoint
      const moved = ts !== null && Date.parse(ts) >= Date.parse(current.cursor_ts ?? '0001-01-01T00:00:00Z')
      state.checkpoint = {
        ...current,
        ...(moved ? { cursor_ts: ts, cursor_event_id: update.cursor_event_id } : {}),
        batch_seq: Math.max(update.batch_seq, current.batch_seq),
        dropped_total: Math.max(update.dropped_total, current.dropped_total),
      }
      state.onCheckpoint(state.checkpoint)
      return state.checkpoint
    },
    'POST events': (body) => {
      const { events } = v.parse(EventBatch, body)
      state.batches.push(events.length)
      const results = events.map((event) => store(state, event))
      const count = (status: EventResult['status']) =>
        results.filter((result) => result.status === status).length
      return {
        accepted: count('accepted'),
        duplicates: count('duplicate'),
        rejected: count('rejected'),
        results,
      }
    },
  }
}

function store(state: State, item: unknown): EventResult {
  const parsed = v.safeParse(AdapterEvent, item)
  const base = { alert_id: null, investigation_id: null, error: null }
  if (!parsed.success || state.rejects(parsed.output)) {
    const error = { code: 'validation_failed', pointer: '/title', message: 'is not valid' }
    const id = parsed.success ? parsed.output.source_event_id : null
    return { ...base, source_event_id: id, status: 'rejected', error }
  }
  const id = parsed.output.source_event_id
  if (state.events.has(id)) {
    state.duplicates += 1
    return { ...base, source_event_id: id, status: 'duplicate' }
  }
  state.events.set(id, parsed.output)
  return { ...base, source_event_id: id, status: 'accepted' }
}
