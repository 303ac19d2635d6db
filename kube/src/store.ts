import type { KubeObject, ObjectKey, WatchEvent } from './port.ts'

/** The reflector's cache: what the server said last, by namespace and name. */
export type Store<T extends KubeObject> = {
  get(key: ObjectKey): T | undefined
  items(): T[]
  /** One change of a watch; a repeated one gives nothing. */
  set(object: T): WatchEvent<T>[]
  delete(object: T): WatchEvent<T>[]
  /** A whole list: what differs from the cache, deletions first. */
  replaceAll(objects: readonly T[]): WatchEvent<T>[]
}

export function createStore<T extends KubeObject>(): Store<T> {
  const objects = new Map<string, T>()
  let filled = false

  const set = (object: T, initial: boolean): WatchEvent<T>[] => {
    const key = keyOf(object.metadata)
    const former = objects.get(key)
    if (former !== undefined && sameVersion(former, object)) return []
    objects.set(key, object)
    const replaced = former !== undefined && former.metadata.uid !== object.metadata.uid
    const gone: WatchEvent<T>[] = replaced ? [{ type: 'deleted', object: former }] : []
    return [...gone, { type: 'set', object, initial }]
  }
  const remove = (key: string, last?: T): WatchEvent<T>[] => {
    const former = objects.get(key)
    if (former === undefined) return []
    objects.delete(key)
    return [{ type: 'deleted', object: last ?? former }]
  }
  return {
    get: (key) => objects.get(keyOf(key)),
    items: () => [...objects.values()],
    set: (object) => set(object, false),
    delete: (object) => remove(keyOf(object.metadata), object),
    replaceAll: (listed) => {
      const present = new Set(listed.map((object) => keyOf(object.metadata)))
      const events = [...objects.keys()].filter((key) => !present.has(key)).flatMap((key) => remove(key))
      for (const object of listed) events.push(...set(object, !filled))
      filled = true
      return events
    },
  }
}

const keyOf = (key: ObjectKey): string => `${key.namespace ?? ''}/${key.name}`

const sameVersion = (a: KubeObject, b: KubeObject): boolean =>
  a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion
