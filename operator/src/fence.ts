import { KubeError } from '@service/kube'
import type { CallOptions, KubeClient } from '@service/kube'
import type { Term } from './lease.ts'

/**
 * A client that writes only while the term is valid: a process that was stopped and wakes up as nobody's leader sends at
 * most what was already on its way.
 */
export function fencedClient(kube: KubeClient, term: Term): KubeClient {
  const bound = <O extends CallOptions>(options: O | undefined): O & { signal: AbortSignal } => {
    const signal =
      options?.signal === undefined ? term.signal : AbortSignal.any([options.signal, term.signal])
    return { ...(options as O), signal }
  }
  const write = <T>(call: () => Promise<T>): Promise<T> =>
    term.valid() ? call() : Promise.reject(new KubeError('the leader lease is lost', 0, 'LeaseLost'))
  return {
    ...kube,
    get: (type, key, options) => kube.get(type, key, bound(options)),
    list: (type, options) => kube.list(type, bound(options)),
    create: (type, object, options) => write(() => kube.create(type, object, bound(options))),
    replace: (type, object, options) => write(() => kube.replace(type, object, bound(options))),
    apply: (type, object, options) => write(() => kube.apply(type, object, bound(options))),
    patch: (type, key, patch, options) => write(() => kube.patch(type, key, patch, bound(options))),
    delete: (type, key, options) => write(() => kube.delete(type, key, bound(options))),
  }
}
