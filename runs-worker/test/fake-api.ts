import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { RunClaim } from '@service/wire'
import * as v from 'valibot'

export type Seen = {
  readonly verb: string
  readonly id: string
  readonly token: string
  readonly body: unknown
}
type Answer = { readonly status: number; readonly body?: object; readonly headers?: Record<string, string> }

/** A fake of the API's worker routes, in memory. The real claim is tested in e2e; the other routes do not exist yet. */
export async function startFakeApi() {
  const state = {
    token: 'worker-token-1',
    /** Runs that wait, by id and job type. */
    queue: [] as { id: string; jobType: string }[],
    leaseMs: 60_000,
    seen: [] as Seen[],
    claims: 0,
    headers: [] as string[],
    /** Answers in place of the usual. */
    fault: (_verb: string): Answer | undefined => undefined,
  }
  const lease = () => new Date(Date.now() + state.leaseMs).toISOString()
  const answers: Readonly<Record<string, (id: string) => Answer>> = {
    claim: () => {
      state.claims += 1
      const next = state.queue.shift()
      if (next === undefined) return { status: 204 }
      const run = { id: next.id, job_type: next.jobType, status: 'running', attempt: 1 }
      const body = { run, token: `run-${next.id}`, lease_id: randomUUID(), lease_expires_at: lease() }
      return { status: 200, body: { ...body, alerts: [] } }
    },
    heartbeat: (id) => ({ status: 200, body: { lease_expires_at: lease(), token: `renewed-${id}` } }),
    release: () => ({ status: 200, body: { retrying: true, attempt: 1 } }),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const [verb = '', id = ''] = (request.url ?? '').split('/').toReversed()
      const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
      state.headers.push(JSON.stringify(request.headers))
      const body: unknown = JSON.parse(text)
      if (verb === 'claim') v.parse(RunClaim, body)
      else state.seen.push({ verb, id, token, body })
      const refused = verb === 'claim' && token !== state.token
      const answer = state.fault(verb) ?? (refused ? { status: 401 } : answers[verb]?.(id)) ?? { status: 404 }
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      response.end(answer.status === 204 ? undefined : JSON.stringify(answer.body ?? {}))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    enqueue: (jobType = 'triage'): string => {
      const id = randomUUID()
      state.queue.push({ id, jobType })
      return id
    },
    calls: (verb: string) => state.seen.filter((each) => each.verb === verb),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
