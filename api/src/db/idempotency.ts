import type { Tx } from './scope.ts'

/** The doors to what was answered to requests with an `Idempotency-Key` (migration idempotency). */

export type Started =
  | { readonly outcome: 'new' | 'running' | 'reused' }
  | { readonly outcome: 'done'; readonly status: number; readonly answer: unknown }

export type KeyedRequest = {
  readonly principalId: string
  /** Of method, path and key. */
  readonly requestHash: Uint8Array
  readonly bodyHash: Uint8Array
}

type Row = { outcome: Started['outcome']; status: number | null; answer: unknown }

export async function beginKeyed(
  tx: Tx,
  request: KeyedRequest,
  times: { readonly now: Date; readonly expiresAt: Date; readonly abandonedBefore: Date },
): Promise<Started> {
  const [row] = await tx.sql<Row[]>`
    select * from public.idempotency_begin(${request.principalId}, ${Buffer.from(request.requestHash)},
      ${Buffer.from(request.bodyHash)}, ${times.now}, ${times.expiresAt}, ${times.abandonedBefore})`
  if (row === undefined) throw new Error('a function of the database answered nothing')
  const { outcome, status, answer } = row
  return outcome === 'done' ? { outcome, status: status ?? 200, answer } : { outcome }
}

/** Without an answer the key is free again. `startedAt` fences off whoever has taken the key over. */
export async function endKeyed(
  tx: Tx,
  request: KeyedRequest,
  startedAt: Date,
  answer: { readonly status: number; readonly answer: object } | null,
): Promise<void> {
  await tx.sql`
    select public.idempotency_end(${request.principalId}, ${Buffer.from(request.requestHash)}, ${startedAt},
      ${answer?.status ?? null}, ${answer === null ? null : JSON.stringify(answer.answer)})`
}

export async function sweepKeyed(tx: Tx, now: Date): Promise<number> {
  const [row] = await tx.sql<{ gone: number }[]>`select public.idempotency_sweep(${now}) as gone`
  return row?.gone ?? 0
}
