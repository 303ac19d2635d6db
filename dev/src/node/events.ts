import type { Clock } from '@service/domain'
import type { ApiClient } from '../cluster/client.ts'
import { seconds } from './status.ts'
import type { Pod } from './types.ts'

export type EventType = 'Normal' | 'Warning'

export interface EventRecorder {
  /** Records an Event about a pod; a repeated one counts up. Never fails: an Event is only news. */
  record: (pod: Pod, type: EventType, reason: string, message: string) => void
}

const MAX_REMEMBERED = 1_000
const MAX_PENDING = 100

export function eventRecorder(
  api: ApiClient,
  nodeName: string,
  clock: Clock,
  log: (line: string) => void,
): EventRecorder {
  const known = new Map<string, { name: string; count: number }>()
  let pending = 0
  let last: Promise<void> = Promise.resolve()

  const send = async (pod: Pod, type: EventType, reason: string, message: string): Promise<void> => {
    const { name, namespace, uid } = pod.metadata
    const path = `/api/v1/namespaces/${namespace}/events`
    const key = `${uid} ${reason} ${message}`
    const now = seconds(clock())
    const before = known.get(key)
    if (before !== undefined) {
      before.count++
      const body = { count: before.count, lastTimestamp: now }
      await api.call('PATCH', `${path}/${before.name}`, { body, timeoutMs: 5_000 })
      return
    }
    const event = { name: `${name}.${crypto.randomUUID().slice(0, 16).replace('-', '')}`, count: 1 }
    const body = {
      metadata: { name: event.name, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
      type,
      reason,
      message,
      source: { component: 'local-node', host: nodeName },
      reportingComponent: 'local-node',
      reportingInstance: nodeName,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    }
    await api.call('POST', path, { body, timeoutMs: 5_000 })
    known.set(key, event)
    for (const oldest of known.keys()) {
      if (known.size <= MAX_REMEMBERED) break
      known.delete(oldest)
    }
  }

  return {
    record: (pod, type, reason, message) => {
      if (pending >= MAX_PENDING) return
      pending++
      last = last
        .then(() => send(pod, type, reason, message))
        .catch((error: unknown) => log(`event ${reason} of ${pod.metadata.name}: ${String(error)}`))
        .finally(() => pending--)
    },
  }
}
