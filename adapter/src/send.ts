import { ApiError } from '@service/pod'
import type { Retrying } from '@service/pod'
import type { EventBatchResult } from '@service/wire'
import type { Api } from './api.ts'
import { bodyOf, halves } from './batch.ts'
import type { Encoded } from './batch.ts'

export type EventResult = EventBatchResult['results'][number]
export type Answered = { readonly encoded: Encoded; readonly result: EventResult }
export type Sent = {
  readonly answered: readonly Answered[]
  /** Too large even alone: no repetition helps. */
  readonly oversized: readonly Encoded[]
  /** The API failed on each of these alone, again and again. */
  readonly stuck: readonly Encoded[]
}

export type SendOptions = {
  readonly api: Pick<Api, 'sendEvents'>
  readonly retrying: Retrying
  readonly nextSeq: () => number
}

/**
 * Sends a batch until the API has answered. A batch that is too large, or that the API fails on, is halved, so that
 * one bad event does not hold up its neighbours. Rejects with an ApiError when the API refuses the batch as such.
 */
export async function send(options: SendOptions, batch: readonly Encoded[]): Promise<Sent> {
  const { api, retrying, nextSeq } = options
  const body = bodyOf(batch, nextSeq())
  try {
    const answer = await retrying(async () => checked(await api.sendEvents(body), batch))
    return { answered: answer, oversized: [], stuck: [] }
  } catch (error) {
    const failure = error instanceof ApiError ? error.failure : undefined
    if (failure !== 'too_large' && failure !== 'failing') throw error
    if (batch.length === 1)
      return failure === 'too_large'
        ? { answered: [], oversized: batch, stuck: [] }
        : { answered: [], oversized: [], stuck: batch }
  }
  const [first, second] = halves(batch)
  const left = await send(options, first)
  const right = await send(options, second)
  return {
    answered: [...left.answered, ...right.answered],
    oversized: [...left.oversized, ...right.oversized],
    stuck: [...left.stuck, ...right.stuck],
  }
}

/** Results come in the order of the events (decision 5.2); anything else is no answer to this batch. */
function checked({ results }: EventBatchResult, batch: readonly Encoded[]): Answered[] {
  const answered = batch.flatMap((encoded, index) => {
    const result = results[index]
    const isOurs = result?.source_event_id === encoded.event.source_event_id || result?.status === 'rejected'
    return result !== undefined && isOurs ? [{ encoded, result }] : []
  })
  if (answered.length !== batch.length || results.length !== batch.length)
    throw new ApiError('invalid_answer', 'the results of the API do not belong to the batch')
  return answered
}
