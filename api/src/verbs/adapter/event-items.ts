import { JSON_DEPTH } from '@service/domain'
import { AdapterEvent, type EventResult, fieldErrors, jsonDepth } from '@service/wire'
import * as v from 'valibot'

export type Finding = NonNullable<EventResult['error']>
export type Item =
  | { readonly ok: true; readonly event: AdapterEvent; readonly key: string }
  | { readonly ok: false; readonly sourceEventId: string | null; readonly error: Finding }

/** One item of a batch, judged by itself: too deep, not an AdapterEvent, or an event ready to be stored (decision 5.2). */
export function readItem(value: unknown): Item {
  if (jsonDepth(value, JSON_DEPTH.event + 1) > JSON_DEPTH.event)
    return rejected(value, {
      code: 'too_deep',
      pointer: '',
      message: `must not be nested deeper than ${JSON_DEPTH.event}`,
    })
  const result = v.safeParse(AdapterEvent, value)
  if (!result.success) {
    const [first] = fieldErrors(result.issues)
    const { code, pointer, message } = first ?? { code: 'invalid', pointer: '', message: 'is not valid' }
    return rejected(value, { code, pointer, message })
  }
  const event = { ...result.output, raw: storable(result.output.raw) as AdapterEvent['raw'] }
  return { ok: true, event, key: eventKey(event) }
}

/** An event is known by where it comes from and its id there (decision 5.4). */
const eventKey = (event: AdapterEvent): string => JSON.stringify([event.source, event.source_event_id])

function rejected(value: unknown, error: Finding): Item {
  const id = v.safeParse(v.object({ source_event_id: AdapterEvent.entries.source_event_id }), value)
  return { ok: false, sourceEventId: id.success ? id.output.source_event_id : null, error }
}

/** What the database cannot hold becomes U+FFFD, in keys, too (decision 1.8). Depth is bounded before. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [clean(key), storable(member)]))
}

const clean = (text: string): string => text.toWellFormed().replaceAll('\u0000', '\uFFFD')
