import { credentialSource } from './credentials.ts'
import type { ConfigSource, KubeLog } from './credentials.ts'
import { errorWithoutAnswer } from './errors.ts'
import { collectionPath, objectPath, scopeOf, withQuery } from './paths.ts'
import type { Query } from './paths.ts'
import { isKubeError } from './port.ts'
import type {
  CallOptions,
  DeleteOptions,
  KubeClient,
  KubeObject,
  ListOptions,
  ObjectKey,
  ObjectList,
  ResourceType,
} from './port.ts'
import { createTransport } from './transport.ts'
import type { Call, Transport } from './transport.ts'

const PAGE = 500
/** A list over many pages may outlive its snapshot; how often it is begun again before giving up. */
const LIST_ATTEMPTS = 3

/** Under this key a client carries its connection, which the reflector needs; copies of a client keep it. */
export const TRANSPORT = Symbol('transport')
export type ConnectedClient = KubeClient & { readonly [TRANSPORT]: Transport }

export type KubeClientOptions = ConfigSource & { readonly userAgent: string; readonly log?: KubeLog }

/**
 * A client of one API server. Files are read at the first call and again when they change: a missing kubeconfig is a
 * KubeError `BadConfiguration` of each call, not of this function. `userAgent` shows up in the server's audit log.
 */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const transport = createTransport(credentialSource(options, options.log), options.userAgent)
  const client: ConnectedClient = {
    [TRANSPORT]: transport,
    ready: async (call = {}) => {
      await transport.send({ ...passed(call), method: 'GET', path: '/readyz' })
    },
    get: <T extends KubeObject>(type: ResourceType, key: ObjectKey, call: CallOptions = {}) =>
      nullWhenAbsent(() =>
        sendJson<T>(transport, { ...passed(call), method: 'GET', path: objectPath(type, key) }),
      ),
    list: (type, call = {}) => listAll(transport, type, call),
    create: (type, object, call = {}) => {
      const path = collectionPath(type, scopeOf(type, object.metadata.namespace))
      return sendJson(transport, { ...passed(call), method: 'POST', path, body: typed(type, object) })
    },
    replace: (type, object, call = {}) => {
      const path = objectPath(type, object.metadata, call.subresource)
      return sendJson(transport, { ...passed(call), method: 'PUT', path, body: typed(type, object) })
    },
    apply: (type, object, call) => {
      const path = withQuery(objectPath(type, object.metadata, call.subresource), {
        fieldManager: call.fieldManager,
        force: call.force === true ? 'true' : undefined,
        dryRun: call.dryRun === true ? 'All' : undefined,
      })
      const body = withoutManagedFields(typed(type, object))
      const contentType = 'application/apply-patch+yaml'
      return sendJson(transport, { ...passed(call), method: 'PATCH', path, body, contentType })
    },
    patch: (type, key, body, call = {}) => {
      const path = objectPath(type, key, call.subresource)
      const contentType = 'application/merge-patch+json'
      return sendJson(transport, { ...passed(call), method: 'PATCH', path, body, contentType })
    },
    delete: async (type, key, call = {}) => {
      const deleted = await nullWhenAbsent(() =>
        sendJson<KubeObject>(transport, {
          ...passed(call),
          method: 'DELETE',
          path: objectPath(type, key),
          body: deleteBody(call),
        }),
      )
      return deleted !== null
    },
    close: async () => transport.close(),
  }
  return client
}

function passed(options: CallOptions): Pick<Call, 'signal' | 'timeoutMs'> {
  return {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  }
}

function deleteBody(options: DeleteOptions): unknown {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: options.propagation ?? 'Background',
    ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
  }
}

function typed<T extends KubeObject>(type: ResourceType, object: T): T {
  return { ...object, apiVersion: type.apiVersion, kind: type.kind }
}

/** The server refuses them in an apply, and an object that was read carries them. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _dropped, ...metadata } = object.metadata as T['metadata'] & {
    managedFields?: unknown
  }
  return { ...object, metadata }
}

async function nullWhenAbsent<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call()
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return null
    throw error
  }
}

async function sendJson<T>(transport: Transport, call: Call): Promise<T> {
  const text = await transport.send(call)
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body as T
  } catch (error) {
    throw errorWithoutAnswer(`${call.method} ${call.path}`, 'BadAnswer', error)
  }
  throw errorWithoutAnswer(`${call.method} ${call.path}`, 'BadAnswer')
}

export type ListCall = ListOptions & { readonly onBytes?: () => void }
type Page = {
  readonly items?: readonly KubeObject[] | null
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string }
}

/** All pages of one snapshot. Items of a list come without their kind: it is put back. */
export async function listAll<T extends KubeObject>(
  transport: Transport,
  type: ResourceType,
  options: ListCall,
): Promise<ObjectList<T>> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await listOnce<T>(transport, type, options)
    } catch (error) {
      if (attempt === LIST_ATTEMPTS || !isKubeError(error, 'Expired')) throw error
    }
  }
}

async function listOnce<T extends KubeObject>(
  transport: Transport,
  type: ResourceType,
  options: ListCall,
): Promise<ObjectList<T>> {
  const path = collectionPath(type, options.namespace)
  const onBytes = options.onBytes === undefined ? {} : { onBytes: options.onBytes }
  const items: KubeObject[] = []
  let token: string | undefined
  for (;;) {
    const query: Query = {
      limit: String(PAGE),
      continue: token,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
    }
    const call: Call = { ...passed(options), ...onBytes, method: 'GET', path: withQuery(path, query) }
    const page = await sendJson<Page>(transport, call)
    const resourceVersion = page.metadata?.resourceVersion
    if (!Array.isArray(page.items ?? []) || resourceVersion === undefined) {
      throw errorWithoutAnswer(`GET ${path}`, 'BadAnswer')
    }
    for (const item of page.items ?? []) items.push(typed(type, item))
    token = page.metadata?.continue
    if (token === undefined || token === '') return { items: items as T[], resourceVersion }
  }
}
