import { setTimeout as sleep } from 'node:timers/promises'
import { connectApi, readKubeconfig } from '../../cluster/client.ts'
import { reflect } from '../../cluster/watch.ts'
import type { Watched } from '../../cluster/watch.ts'
import type { Connection } from '../../system/connection.ts'

type AdapterPod = Watched & { status?: { conditions?: { type: string; status: string }[] } }
type Token = { data: { token: string } }
type TenantNamespace = { metadata: { labels: Record<string, string> } }

export type Heartbeats = {
  /** Heartbeats that the API has taken, and refused. */
  readonly taken: () => number
  readonly refused: () => number
  stop(): Promise<void>
}

/**
 * Stands for the adapters of all tenants whose pods are simulated: as soon as such a pod is ready, posts heartbeats with
 * the token that the operator has put into its namespace, as the adapter itself would.
 */
export async function startHeartbeats(connection: Connection, seconds: number): Promise<Heartbeats> {
  const api = connectApi(await readKubeconfig(connection.kubeconfig))
  const ending = new AbortController()
  const { signal } = ending
  const beating = new Map<string, Promise<void>>()
  let taken = 0
  let refused = 0
  const beat = async (namespace: string): Promise<void> => {
    const { metadata } = await api.call<TenantNamespace>('GET', `/api/v1/namespaces/${namespace}`)
    const body = JSON.stringify({ tenant_id: metadata.labels['tenant-id'], version: 'drill', health: 'ok' })
    while (!signal.aborted) {
      const path = `/api/v1/namespaces/${namespace}/secrets/adapter-token`
      const secret = await api.call<Token>('GET', path)
      const authorization = `Bearer ${Buffer.from(secret.data.token, 'base64').toString()}`
      const headers = { authorization, 'content-type': 'application/json' }
      const url = `${connection.mssp_url}/api/internal/adapter/health`
      const timeout = AbortSignal.timeout(10_000)
      const answer = await fetch(url, { method: 'POST', headers, body, signal: timeout }).catch(() => null)
      await answer?.body?.cancel()
      if (answer?.ok === true) taken += 1
      else refused += 1
      await sleep(answer?.ok === true ? seconds * 1_000 : 500, undefined, { signal }).catch(() => undefined)
    }
  }
  const look = ({ metadata: { namespace = '' }, status }: AdapterPod): void => {
    const ready = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false
    if (!ready || beating.has(namespace)) return
    const ended = beat(namespace).catch((error: unknown) => {
      if (!signal.aborted) console.log(`the heartbeats of ${namespace} have ended: ${String(error)}`)
    })
    beating.set(namespace, ended)
  }
  const watching = reflect<AdapterPod>({
    api,
    path: '/api/v1/pods',
    query: { labelSelector: 'app.kubernetes.io/component=adapter' },
    onSync: (items) => items.forEach(look),
    onEvent: (type, pod) => (type === 'DELETED' ? undefined : look(pod)),
    signal,
    log: (line) => console.log(line),
  })
  return {
    taken: () => taken,
    refused: () => refused,
    stop: async () => {
      ending.abort()
      await Promise.all([watching, ...beating.values()])
      api.close()
    },
  }
}
