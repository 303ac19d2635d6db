import type { ObjectKey, ResourceType } from './port.ts'

export type Query = Readonly<Record<string, string | undefined>>

/** Path of a collection, or of one namespace's part of it. Core kinds live under `/api`, all others under `/apis`. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.apiVersion.includes('/') ? `/apis/${type.apiVersion}` : `/api/${type.apiVersion}`
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${scope}/${type.plural}`
}

/** Path of one object; a namespaced kind without a namespace, or without a name, is a mistake of the caller. */
export function objectPath(type: ResourceType, key: ObjectKey, subresource?: string): string {
  if (key.name === '') throw new TypeError(`a ${type.kind} needs a name`)
  return `${collectionPath(type, scopeOf(type, key.namespace))}/${encodeURIComponent(key.name)}${
    subresource === undefined ? '' : `/${subresource}`
  }`
}

/** The namespace that a single object's path needs. */
export function scopeOf(type: ResourceType, namespace: string | undefined): string | undefined {
  if (!type.namespaced) return undefined
  if (namespace === undefined || namespace === '') throw new TypeError(`a ${type.kind} needs a namespace`)
  return namespace
}

export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value)
  }
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}
