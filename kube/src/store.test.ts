import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject, WatchEvent } from './port.ts'
import { createStore } from './store.ts'

type Version = { readonly name: string; readonly uid: string; readonly resourceVersion: string }
const object = (version: Version): KubeObject => ({ metadata: version })

const versions = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  uid: fc.constantFrom('u1', 'u2'),
  resourceVersion: fc.integer({ min: 1, max: 4 }).map(String),
})
const lists = fc.uniqueArray(versions, { selector: (each) => each.name, maxLength: 4 })
const operations = fc.oneof(
  fc.record({ kind: fc.constant('list' as const), objects: lists }),
  fc.record({ kind: fc.constant('set' as const), object: versions }),
  fc.record({ kind: fc.constant('delete' as const), object: versions }),
)

describe('the store', () => {
  it('tells exactly what turns a listener’s copy into the cache', () => {
    fc.assert(
      fc.property(fc.array(operations, { maxLength: 20 }), (steps) => {
        const store = createStore<KubeObject>()
        const copy = new Map<string, KubeObject>()
        const hear = (events: readonly WatchEvent<KubeObject>[]): void => {
          for (const event of events) {
            const { name } = event.object.metadata
            if (event.type === 'deleted') expect(copy.delete(name)).toBe(true)
            else copy.set(name, event.object)
          }
        }
        for (const step of steps) {
          if (step.kind === 'list') {
            hear(store.replaceAll(step.objects.map(object)))
            const names = step.objects.map((each) => each.name).toSorted()
            expect(
              store
                .items()
                .map((each) => each.metadata.name)
                .toSorted(),
            ).toEqual(names)
          } else if (step.kind === 'set') hear(store.set(object(step.object)))
          else hear(store.delete(object(step.object)))
          for (const item of store.items()) expect(copy.get(item.metadata.name)).toEqual(item)
          expect(copy.size).toBe(store.items().length)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('marks only the first list as initial, and tells nothing twice', () => {
    const store = createStore<KubeObject>()
    const a = object({ name: 'a', uid: 'u', resourceVersion: '1' })
    const b = object({ name: 'b', uid: 'u', resourceVersion: '1' })
    expect(store.replaceAll([a])).toEqual([{ type: 'set', object: a, initial: true }])
    expect(store.replaceAll([a, b])).toEqual([{ type: 'set', object: b, initial: false }])
    expect(store.set(b)).toEqual([])
    expect(store.replaceAll([b])).toEqual([{ type: 'deleted', object: a }])
  })

  it('tells a deletion before the creation of a namesake', () => {
    const store = createStore<KubeObject>()
    const old = object({ name: 'a', uid: 'u1', resourceVersion: '1' })
    const young = object({ name: 'a', uid: 'u2', resourceVersion: '9' })
    store.replaceAll([old])
    expect(store.replaceAll([young])).toEqual([
      { type: 'deleted', object: old },
      { type: 'set', object: young, initial: false },
    ])
  })
})
