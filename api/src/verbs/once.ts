import { createHash } from 'node:crypto'
import { type Clock, IDEMPOTENCY, ONE_TIME_SECRETS, ServiceError } from '@service/domain'
import type { Database } from '../db/database.ts'
import { beginKeyed, endKeyed, type KeyedRequest } from '../db/idempotency.ts'
import { asInstall } from '../db/scope.ts'
import type { Log } from '../log.ts'

export type OnceContext = { readonly db: Database; readonly clock: Clock; readonly log: Log }
export type OnceRequest = {
  readonly key: string
  readonly userId: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly body: unknown
}
export type OnceAnswer = {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Does the work at most once for a key (decision 1.7): afterwards the same request gets the same answer, without
 * one-time secrets, which are stored nowhere. What fails leaves the key free for another try. A process that dies in
 * the middle holds the key for minutes only; what it had committed by then, the work's own uniqueness tells.
 */
export async function once(
  ctx: OnceContext,
  request: OnceRequest,
  work: () => Promise<OnceAnswer>,
): Promise<OnceAnswer & { readonly replayed: boolean }> {
  checkKey(request.key)
  const keyed = keyedRequest(request)
  const now = ctx.clock()
  const at = (ms: number) => new Date(now.getTime() + ms)
  const times = { now, expiresAt: at(IDEMPOTENCY.keptMs), abandonedBefore: at(-IDEMPOTENCY.abandonedMs) }
  const started = await asInstall(ctx.db, (tx) => beginKeyed(tx, keyed, times))
  if (started.outcome === 'reused') throw new ServiceError('idempotency_key_reused')
  if (started.outcome === 'running') throw new ServiceError('request_in_progress')
  if (started.outcome === 'done') return { ...stored(started.answer), status: started.status, replayed: true }
  const answer = await work().catch(async (error: unknown) => {
    await end(ctx, keyed, now, null)
    throw error
  })
  const { body, headers, status } = answer
  await end(ctx, keyed, now, { status, answer: { body: withoutSecrets(body), headers } })
  return { ...answer, replayed: false }
}

/** The work is done or undone already: that it could not be written down must not change its answer. */
async function end(ctx: OnceContext, ...args: End): Promise<void> {
  await asInstall(ctx.db, (tx) => endKeyed(tx, ...args)).catch((error: unknown) =>
    ctx.log.warn({ err: error }, 'the outcome of a request with an idempotency key could not be stored'),
  )
}
type End = Parameters<typeof endKeyed> extends [unknown, ...infer Rest] ? Rest : never

function checkKey(key: string): void {
  if (IDEMPOTENCY.key.test(key)) return
  const message = `must be 1 to ${IDEMPOTENCY.keyLength} printable ASCII characters`
  throw new ServiceError('validation_failed', `The Idempotency-Key ${message}`, {
    errors: [{ pointer: '/Idempotency-Key', code: 'invalid_format', message }],
  })
}

/** The body as its schema has read it, so that spaces and the order of members make no other request. */
function keyedRequest(request: OnceRequest): KeyedRequest {
  const digest = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest()
  return {
    principalId: request.userId,
    requestHash: digest([request.method, request.path, request.key]),
    bodyHash: digest([request.body ?? null]),
  }
}

function stored(answer: unknown): Pick<OnceAnswer, 'body' | 'headers'> {
  const { body, headers } = answer as Pick<OnceAnswer, 'body' | 'headers'>
  return { body, headers }
}

/** Pure: the same value with `null` for whatever is told once only. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      ONE_TIME_SECRETS.has(name) ? null : withoutSecrets(member),
    ]),
  )
}
