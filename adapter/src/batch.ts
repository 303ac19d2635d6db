import { BODY } from '@service/domain'
import type { AdapterEvent } from '@service/wire'

/** An event with its JSON, which is made once. */
export type Encoded = { readonly event: AdapterEvent; readonly json: string; readonly bytes: number }

export function encode(event: AdapterEvent): Encoded {
  const json = JSON.stringify(event)
  return { event, json, bytes: Buffer.byteLength(json) }
}

/** What stands around the events of a body, with room to spare. */
const ENVELOPE_BYTES = 256

/** The body of an EventBatch. */
export const bodyOf = (events: readonly Encoded[], batchSeq: number): string =>
  `{"events":[${events.map(({ json }) => json).join(',')}],"batch_seq":${batchSeq},"schema_version":1}`

/** Whether one more event fits into a batch, by number and by size of the body. */
export function fits(
  batch: readonly Encoded[],
  next: Encoded,
  maxEvents: number,
  maxBytes: number = BODY.events,
) {
  const bytes = batch.reduce((sum, encoded) => sum + encoded.bytes + 1, ENVELOPE_BYTES)
  return batch.length < maxEvents && bytes + next.bytes <= maxBytes
}

export function halves<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(list.length / 2)
  return [list.slice(0, middle), list.slice(middle)]
}
