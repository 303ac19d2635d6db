import type { Clock } from '@service/domain'
import type { ApiClient } from '../cluster/client.ts'
import type { Lookup } from './environment.ts'
import type { Pod } from './types.ts'
import type { TokenSource } from './volume-files.ts'

/** Reads Secrets and ConfigMaps of a namespace, always fresh. */
export function lookupIn(api: ApiClient, namespace: string): Lookup {
  return async (kind, name) => {
    const collection = kind === 'secret' ? 'secrets' : 'configmaps'
    const path = `/api/v1/namespaces/${namespace}/${collection}/${name}`
    const object = await api.find<{ data?: Record<string, string>; binaryData?: Record<string, string> }>(
      path,
    )
    if (object === null) return null
    const encoding = kind === 'secret' ? 'base64' : 'utf8'
    return {
      ...decode(object.data, encoding),
      ...decode(object.binaryData, 'base64'),
    }
  }
}

function decode(
  values: Readonly<Record<string, string>> | undefined,
  encoding: 'base64' | 'utf8',
): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]),
  )
}

/** Tokens of the pod's service account, bound to the pod; each is asked for again after 80 % of its life. */
export function podTokens(api: ApiClient, pod: Pod, clock: Clock): TokenSource {
  const { name, namespace, uid } = pod.metadata
  const account = pod.spec.serviceAccountName ?? 'default'
  const kept = new Map<string, { token: string; renewAt: number }>()
  return async (audience, expirationSeconds) => {
    const key = `${audience ?? ''} ${expirationSeconds}`
    const before = kept.get(key)
    const now = clock().getTime()
    if (before !== undefined && now < before.renewAt) return before.token
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        ...(audience === undefined ? {} : { audiences: [audience] }),
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
    const { status } = await api.call<{ status: { token: string; expirationTimestamp: string } }>(
      'POST',
      path,
      {
        body,
      },
    )
    const lifeMs = Date.parse(status.expirationTimestamp) - now
    kept.set(key, { token: status.token, renewAt: now + lifeMs * 0.8 })
    return status.token
  }
}
