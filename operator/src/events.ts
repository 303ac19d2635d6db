import { createHash } from 'node:crypto'
import { API_VERSION } from '@service/crds'
import type { JournalEntry, Tenant } from '@service/crds'
import { KIND } from '@service/domain'
import type { Clock } from '@service/domain'
import { EVENTS, isKubeError } from '@service/kube'
import type { KubeClient, KubeObject } from '@service/kube'
import { microTime } from './lease.ts'

/** Tells people by `kubectl describe` what a status write recorded. Best effort: the journal is the record. */
export type EventRecorder = {
  record(tenant: Tenant, entries: readonly JournalEntry[]): Promise<void>
}

type Note = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly action: string
  readonly note: string
}

/** Events of a cluster-scoped object live in `default`. */
const NAMESPACE = 'default'
const CONTROLLER = 'service.dev/operator'

export function eventRecorder(options: {
  readonly kube: KubeClient
  readonly clock: Clock
  readonly identity: string
  readonly onError: (error: unknown) => void
}): EventRecorder {
  const { kube, clock, identity, onError } = options
  return {
    record: async (tenant, entries) => {
      for (const entry of entries) {
        const note = noteOf(tenant, entry)
        if (note === undefined) continue
        try {
          await kube.create(EVENTS, eventOf(tenant, entry, note, clock(), identity))
        } catch (error) {
          if (!isKubeError(error, 'AlreadyExists')) onError(error)
        }
      }
    },
  }
}

/** Few: changes of state and failures. */
function noteOf(tenant: Tenant, entry: JournalEntry): Note | undefined {
  const failure = tenant.status?.failure
  const normal = (reason: string, action: string, note: string): Note => ({
    type: 'Normal',
    reason,
    action,
    note,
  })
  const warning = (reason: string, action: string, note: string): Note => ({
    type: 'Warning',
    reason,
    action,
    note,
  })
  switch (entry.kind) {
    case 'state.changed': {
      const text = `The tenant is ${entry.to} (it was ${entry.from}).`
      return entry.to === 'degraded'
        ? warning('StateChanged', 'Reconcile', `${text} ${failure?.message ?? ''}`.trim())
        : normal('StateChanged', 'Reconcile', text)
    }
    case 'step.failed':
    case 'upgrade.failed':
      return warning(failure?.reason ?? 'ApiError', 'Reconcile', `${entry.step}: ${failure?.message ?? ''}`)
    case 'namespace.missing':
      return warning('Missing', 'Reconcile', 'The namespace of the tenant has disappeared; it is made again.')
    case 'uninstalled':
      return normal('Uninstalled', 'Teardown', 'The release of the tenant is uninstalled.')
    case 'namespace.deleted':
      return normal('NamespaceDeleted', 'Teardown', 'The namespace of the tenant is gone.')
    default:
      return undefined
  }
}

function eventOf(tenant: Tenant, entry: JournalEntry, note: Note, now: Date, identity: string): KubeObject {
  const { name, uid = '' } = tenant.metadata
  // The same entry gives the same name: recording it twice is no second event.
  const id = createHash('sha256').update(`${uid}/${entry.seq}`).digest('hex').slice(0, 16)
  const event = {
    metadata: { name: `${name}.${id}`, namespace: NAMESPACE },
    eventTime: microTime(now),
    reportingController: CONTROLLER,
    reportingInstance: identity.slice(0, 128),
    regarding: { apiVersion: API_VERSION, kind: KIND, name, uid },
    ...note,
    note: note.note.slice(0, 1_024),
  }
  return event
}
