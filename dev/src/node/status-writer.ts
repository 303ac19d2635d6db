import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../cluster/client.ts'
import type { ApiClient } from '../cluster/client.ts'
import { pause } from '../cluster/watch.ts'
import type { Pod, PodStatus } from './types.ts'

export interface StatusWriter {
  /** The status may have changed: it is built and, if it differs, written soon. */
  changed: () => void
  /** What the API server shows; another's change of ours is written over. */
  observed: (status: PodStatus | undefined) => void
  /** Resolves when everything is written, or the pod is gone, or the signal has come. */
  settled: () => Promise<void>
}

/** Writes a pod's status, one request at a time, until it succeeds or the pod is gone. */
export function statusWriter(options: {
  api: ApiClient
  pod: Pod
  build: () => PodStatus
  signal: AbortSignal
  log: (line: string) => void
}): StatusWriter {
  const { api, pod, signal } = options
  const { name, namespace, uid } = pod.metadata
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`
  let sent: PodStatus | undefined
  let dirty = false
  let gone = false
  let working: Promise<void> | undefined

  const work = async (): Promise<void> => {
    let failures = 0
    while (dirty && !gone && !signal.aborted) {
      // Changes come in bursts.
      await sleep(10)
      dirty = false
      const status = options.build()
      if (JSON.stringify(status) === JSON.stringify(sent)) continue
      // podIPs merges by address: without the directive an earlier life's address would stay.
      const podIPs = [{ ip: status.podIP }, { $patch: 'replace' }]
      const body = { metadata: { uid }, status: { ...status, podIPs, hostIPs: [{ ip: status.hostIP }] } }
      try {
        await api.call('PATCH', path, { body, patch: 'strategic-merge', signal })
        sent = status
        failures = 0
      } catch (error) {
        gone = error instanceof ApiError && (error.status === 404 || error.status === 409)
        if (gone || signal.aborted) return
        options.log(`status of ${namespace}/${name}: ${String(error)}`)
        dirty = true
        await pause(Math.min(5_000, 200 * 2 ** failures++), signal)
      }
    }
  }
  const changed = (): void => {
    dirty = true
    working ??= work().finally(() => {
      working = undefined
      if (dirty && !gone && !signal.aborted) changed()
    })
  }

  const settled = async (): Promise<void> => {
    const now = working
    if (now === undefined) return
    await now
    await settled()
  }

  return {
    changed,
    observed: (status) => {
      if (sent === undefined || sameReport(status, sent)) return
      sent = undefined
      changed()
    },
    settled,
  }
}

function sameReport(seen: PodStatus | undefined, sent: PodStatus): boolean {
  const ready = (status: PodStatus | undefined) =>
    ['Ready', 'ContainersReady'].map((type) => status?.conditions?.find((each) => each.type === type)?.status)
  return seen?.phase === sent.phase && ready(seen).join() === ready(sent).join()
}
