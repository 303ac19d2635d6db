import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyedQueue } from './queue.ts'
import type { KeyedQueue, Priority } from './queue.ts'

/** What the queue is measured against: for each key, what it owes. */
type Model = {
  readonly limit: number
  now: number
  readonly running: Set<string>
  readonly owed: Map<string, Priority>
  readonly dirty: Map<string, Priority>
  readonly later: Map<string, { at: number; priority: Priority }>
}
type Command = fc.Command<Model, KeyedQueue>

const higher = (one: Priority | undefined, other: Priority): Priority => (one === 'live' ? one : other)
function owe(model: Model, key: string, priority: Priority): void {
  const target = model.running.has(key) ? model.dirty : model.owed
  target.set(key, higher(target.get(key), priority))
}

class Add implements Command {
  readonly key: string
  readonly priority: Priority
  constructor(key: string, priority: Priority) {
    this.key = key
    this.priority = priority
  }
  check = () => true
  run(model: Model, queue: KeyedQueue): void {
    owe(model, this.key, this.priority)
    queue.add(this.key, this.priority)
    expect(queue.depth()).toBe(model.owed.size)
  }
  toString = () => `add(${this.key}, ${this.priority})`
}

class AddAt implements Command {
  readonly key: string
  readonly after: number
  constructor(key: string, after: number) {
    this.key = key
    this.after = after
  }
  check = () => true
  run(model: Model, queue: KeyedQueue): void {
    const at = model.now + this.after
    const known = model.later.get(this.key)
    if (known === undefined || at < known.at) model.later.set(this.key, { at, priority: 'resync' })
    queue.addAt(this.key, at, 'resync')
    expect(queue.nextAt()).toBe(Math.min(...[...model.later.values()].map((each) => each.at)))
  }
  toString = () => `addAt(${this.key}, +${this.after})`
}

class Pass implements Command {
  readonly ms: number
  constructor(ms: number) {
    this.ms = ms
  }
  check = () => true
  run(model: Model, queue: KeyedQueue): void {
    model.now += this.ms
    for (const [key, { at, priority }] of model.later) {
      if (at > model.now) continue
      model.later.delete(key)
      owe(model, key, priority)
    }
    queue.promote(model.now)
    expect(queue.depth()).toBe(model.owed.size)
  }
  toString = () => `pass(${this.ms})`
}

class Take implements Command {
  check = () => true
  run(model: Model, queue: KeyedQueue): void {
    const key = queue.take()
    if (model.running.size >= model.limit || model.owed.size === 0) {
      expect(key).toBeUndefined()
      return
    }
    if (key === undefined) throw new Error('an owed key was not given out')
    expect(model.running.has(key)).toBe(false)
    const priority = model.owed.get(key)
    expect(priority).toBeDefined()
    if (priority === 'resync') expect([...model.owed.values()]).not.toContain('live')
    model.owed.delete(key)
    model.later.delete(key)
    model.running.add(key)
    expect(queue.running()).toBe(model.running.size)
  }
  toString = () => 'take'
}

class Done implements Command {
  readonly pick: number
  constructor(pick: number) {
    this.pick = pick
  }
  check = (model: Readonly<Model>) => model.running.size > 0
  run(model: Model, queue: KeyedQueue): void {
    const key = [...model.running][this.pick % model.running.size] ?? ''
    model.running.delete(key)
    const again = model.dirty.get(key)
    model.dirty.delete(key)
    if (again !== undefined) model.owed.set(key, again)
    queue.done(key)
    expect(queue.depth()).toBe(model.owed.size)
    expect(queue.running()).toBe(model.running.size)
  }
  toString = () => `done(${this.pick})`
}

const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const priorities = fc.constantFrom<Priority>('live', 'resync')
const commands = fc.commands<Model, KeyedQueue>(
  [
    fc.tuple(keys, priorities).map(([key, priority]) => new Add(key, priority)),
    fc.tuple(keys, fc.integer({ min: 0, max: 20 })).map(([key, after]) => new AddAt(key, after)),
    fc.integer({ min: 1, max: 10 }).map((ms) => new Pass(ms)),
    fc.constant(new Take()),
    fc.nat({ max: 9 }).map((pick) => new Done(pick)),
  ],
  { maxCommands: 60 },
)

describe('the keyed queue', () => {
  it('behaves as its model over 10 000 sequences', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), commands, (limit, sequence) => {
        fc.modelRun(
          () => ({
            model: {
              limit,
              now: 0,
              running: new Set<string>(),
              owed: new Map(),
              dirty: new Map(),
              later: new Map(),
            },
            real: createKeyedQueue(limit),
          }),
          sequence,
        )
      }),
      { numRuns: 10_000 },
    )
  })

  it('gives keys of one priority in the order of their arrival', () => {
    const queue = createKeyedQueue(9)
    queue.add('r', 'resync')
    queue.add('a', 'live')
    queue.add('b', 'live')
    queue.add('a', 'live')
    expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual(['a', 'b', 'r', undefined])
  })

  it('runs a key exactly once more, however often it was added meanwhile', () => {
    const queue = createKeyedQueue(9)
    queue.add('a', 'live')
    expect(queue.take()).toBe('a')
    queue.add('a', 'resync')
    queue.add('a', 'live')
    expect(queue.take()).toBeUndefined()
    queue.done('a')
    expect(queue.take()).toBe('a')
    queue.done('a')
    expect(queue.take()).toBeUndefined()
  })
})
