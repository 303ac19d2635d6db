import { generateAlerts } from '@service/dev'
import { afterEach, describe, expect, it } from 'vitest'
import { createWorld, idsOf, until } from './harness.ts'
import type { World } from './harness.ts'

let world: World
afterEach(() => world.close())

const wazuhTime = (at: Date) => at.toISOString().replace('Z', '+0000')
const alerts = (count: number, until = new Date()) => generateAlerts({ count, seed: 7, until, minutes: 120 })
const alertAt = (id: string, at: Date, extra: object = {}) => ({
  id,
  timestamp: wazuhTime(at),
  rule: { level: 5, id: '1', description: 'x', groups: [] },
  ...extra,
})
const ago = (ms: number) => new Date(Date.now() - ms)
const storedIds = () => [...world.api.state.events.keys()].toSorted()
const storedAll = (wanted: readonly unknown[]) => () => world.api.state.events.size >= wanted.length

describe('forwarding', () => {
  it('stores everything once, in order, and sends nothing twice while all is well', async () => {
    world = await createWorld({ batchSize: 100 })
    const wanted = alerts(1_050)
    await world.load(wanted)
    const adapter = await world.start()
    await until('all alerts', storedAll(wanted))
    await until('the overlap to be read again', () => adapter.status.caughtUp)
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(storedIds()).toEqual(idsOf(wanted))
    const order = [...world.api.state.events.values()].map(({ ts }) => ts ?? '')
    expect(order).toEqual(order.toSorted())
    expect(world.api.state.duplicates).toBe(0)
    expect(Math.max(...world.api.state.batches)).toBe(100)
    expect(world.api.state.checkpoint).toMatchObject({ cursor_ts: order.at(-1), dropped_total: 0 })
  })

  it('orders by moment and id, whatever the offsets', async () => {
    world = await createWorld({ batchSize: 1 })
    const forms = [
      ['c', '2026-07-14T12:00:00.000+0200'],
      ['a', '2026-07-14T10:00:00.000+0000'],
      ['b', '2026-07-14T05:00:00.000-0500'],
      ['0', '2026-07-14T10:00:00.001Z'],
      ['z', '2026-07-14T09:59:59.999Z'],
    ] as const
    await world.load(forms.map(([id, timestamp]) => ({ ...alertAt(id, new Date()), timestamp })))
    await world.start()
    await until('all alerts', storedAll(forms))
    expect([...world.api.state.events.keys()]).toEqual(['z', 'a', 'b', 'c', '0'])
    await until('the checkpoint', () => world.api.state.checkpoint.cursor_event_id === '0')
    expect(world.api.state.checkpoint.cursor_ts).toBe('2026-07-14T10:00:00.001Z')
  })

  it('goes on where the last adapter was, with an overlap of five minutes only', async () => {
    world = await createWorld()
    const old = alertAt('old', ago(20 * 60_000))
    const recent = alertAt('recent', ago(60_000))
    await world.load([old, recent])
    world.api.state.checkpoint = {
      ...world.api.state.checkpoint,
      cursor_ts: ago(2 * 60_000).toISOString(),
      cursor_event_id: 'x',
      batch_seq: 41,
      dropped_total: 3,
    }
    await world.start()
    await until('the recent alert', () => world.api.state.checkpoint.cursor_event_id === 'recent')
    expect(storedIds()).toEqual(['recent'])
    expect(world.api.state.checkpoint).toMatchObject({ batch_seq: 42, dropped_total: 3 })
  })

  it('delivers documents that arrive up to five minutes late', async () => {
    world = await createWorld()
    await world.load([alertAt('first', ago(1_000))])
    await world.start()
    await until('the first alert', () => world.api.state.checkpoint.cursor_event_id === 'first')
    const { cursor_ts: before } = world.api.state.checkpoint
    await world.load([alertAt('late', ago(4.8 * 60_000)), alertAt('too-late', ago(30 * 60_000))])
    await until('the late alert', () => world.api.state.events.has('late'))
    await world.load([alertAt('last', ago(0))])
    await until('the last alert', () => world.api.state.events.has('last'))
    expect(storedIds()).toEqual(['first', 'last', 'late'])
    expect(world.api.state.checkpoint.cursor_ts ?? '').not.toBe('')
    expect((world.api.state.checkpoint.cursor_ts ?? '') >= (before ?? '')).toBe(true)
  })

  it('does not let a document from the future move the checkpoint', async () => {
    world = await createWorld()
    await world.load([alertAt('future', ago(-86_400_000)), alertAt('now', ago(1_000))])
    const adapter = await world.start()
    await until('both', storedAll([1, 2]))
    await world.load([alertAt('next', ago(0))])
    await until('the next alert', () => world.api.state.events.has('next'))
    await until('the checkpoint', () => world.api.state.checkpoint.cursor_event_id === 'next')
    expect(adapter.status).toMatchObject({ forwarded: 3, duplicates: 0 })
  })

  it('leaves out what is below the least severity, without calling it lost', async () => {
    world = await createWorld({ minSeverity: 5 })
    await world.load([
      alertAt('quiet', ago(3_000), { rule: { level: 4 } }),
      alertAt('loud', ago(2_000), { rule: { level: 5 } }),
    ])
    await world.start()
    await until('the checkpoint', () => world.api.state.checkpoint.cursor_event_id === 'loud')
    expect(storedIds()).toEqual(['loud'])
    expect(world.api.state.checkpoint.dropped_total).toBe(0)
  })
})

describe('poison', () => {
  it('is dropped, counted and passed by', async () => {
    world = await createWorld({ batchSize: 3 })
    const deep: unknown = JSON.parse(`${'['.repeat(400)}${']'.repeat(400)}`)
    await world.load([
      alertAt('1', ago(9_000)),
      alertAt('no-level', ago(8_000), { rule: { description: 'no level' } }),
      JSON.parse(
        JSON.stringify(alertAt('2', ago(7_000))).replace(
          '{',
          '{"__proto__":{"a":1},"constructor":{"prototype":1},',
        ),
      ),
      alertAt('3', ago(6_000), { data: deep, full_log: '\0'.repeat(70_000) }),
      alertAt('rejected', ago(5_000)),
      alertAt('4', ago(4_000), { full_log: '\uD800 lone' }),
    ])
    world.api.state.rejects = ({ source_event_id: id }) => id === 'rejected'
    const adapter = await world.start()
    await until('the others', storedAll([1, 2, 3, 4]))
    await until('the checkpoint', () => world.api.state.checkpoint.cursor_event_id === '4')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(storedIds()).toEqual(['1', '2', '3', '4'])
    expect(world.api.state.checkpoint.dropped_total).toBe(2)
    expect(adapter.status).toMatchObject({ unmappable: 1, rejected: 1, forwarded: 4, api: null })
  })

  it('is told from its neighbours when the API fails on it', async () => {
    world = await createWorld({ batchSize: 50 })
    const wanted = alerts(120)
    await world.load([...wanted, alertAt('poison', ago(60 * 60_000))])
    world.api.state.fault = (route, body) =>
      route === 'POST events' && body.includes('"poison"') ? { status: 500 } : undefined
    await world.start()
    await until('all but one', () => world.api.state.checkpoint.dropped_total === 1)
    await until('all alerts', storedAll(wanted))
    expect(storedIds()).toEqual(idsOf(wanted))
  })

  it('is not what an API is that fails on everything: nothing is lost', async () => {
    world = await createWorld({ batchSize: 10 })
    const wanted = alerts(25)
    await world.load(wanted)
    let broken = true
    world.api.state.fault = (route) => (route === 'POST events' && broken ? { status: 500 } : undefined)
    const adapter = await world.start()
    await until('the adapter to notice', () => adapter.status.api === 'failing')
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(world.api.state.checkpoint).toMatchObject({ cursor_ts: null, dropped_total: 0 })
    broken = false
    await until('all alerts', storedAll(wanted))
    expect(storedIds()).toEqual(idsOf(wanted))
  })

  it('is not told from its neighbours by an API that breaks down between them', async () => {
    world = await createWorld({ batchSize: 10 })
    const wanted = alerts(10)
    await world.load(wanted)
    let working = true
    let repaired = false
    world.api.state.fault = (route, body) => {
      if (route !== 'POST events' || repaired) return undefined
      const size = body.split('"source_event_id"').length - 1
      if (size === 5 && working) {
        working = false
        return undefined
      }
      return { status: 500 }
    }
    const adapter = await world.start()
    await until('half of them', storedAll(Array.from({ length: 5 })))
    await until('the adapter to notice', () => adapter.status.api === 'failing')
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(world.api.state.checkpoint).toMatchObject({ cursor_ts: null, dropped_total: 0 })
    repaired = true
    await until('all alerts', storedAll(wanted))
    await until('the checkpoint', () => world.api.state.checkpoint.cursor_ts !== null)
    expect(world.api.state.checkpoint.dropped_total).toBe(0)
  })

  it('waits alone for neighbours, also behind a page of what is done', async () => {
    world = await createWorld({ batchSize: 5 })
    const same = ago(1_000)
    await world.load(Array.from({ length: 5 }, (_, index) => alertAt(`a${index}`, same)))
    world.api.state.fault = (route, body) =>
      route === 'POST events' && body.includes('"a0-poison"') ? { status: 500 } : undefined
    const adapter = await world.start()
    await until('the first page', storedAll([1, 2, 3, 4, 5]))
    await world.load([alertAt('a0-poison', same)])
    await until('the adapter to notice', () => adapter.status.api === 'failing')
    expect(world.api.state.checkpoint.dropped_total).toBe(0)
    await world.load([alertAt('b', ago(0))])
    await until('the drop', () => world.api.state.checkpoint.dropped_total === 1)
    expect(world.api.state.events.has('b')).toBe(true)
  })

  it('halves a batch that is too large for the API', async () => {
    world = await createWorld({ batchSize: 100 })
    const wanted = alerts(100)
    const giant = alertAt('giant', ago(60 * 60_000), {
      full_log: 'x'.repeat(4_000),
      rule: { level: 3, description: 'y'.repeat(1_000) },
    })
    await world.load([...wanted, giant])
    world.api.state.maxBody = 5_000
    await world.start()
    await until('all but the giant', storedAll(wanted))
    await until('the drop', () => world.api.state.checkpoint.dropped_total === 1)
    expect(storedIds()).toEqual(idsOf(wanted))
  })

  it('does not drop what a whole refused body holds', async () => {
    world = await createWorld()
    const wanted = alerts(5)
    await world.load(wanted)
    let refusing = true
    world.api.state.fault = (route) => (route === 'POST events' && refusing ? { status: 422 } : undefined)
    const adapter = await world.start()
    await until('the adapter to notice', () => adapter.status.api === 'rejecting')
    refusing = false
    await until('all alerts', storedAll(wanted))
    expect(world.api.state.checkpoint.dropped_total).toBe(0)
  })

  it('may be larger than memory should hold: the others still arrive', async () => {
    world = await createWorld({ batchSize: 500 })
    const wanted = alerts(300)
    const heavy = Array.from({ length: 12 }, (_, index) =>
      alertAt(`heavy${index}`, ago(60 * 60_000), { full_log: 'x'.repeat(2_000_000) }),
    )
    const giant = alertAt('giant', ago(50 * 60_000), { full_log: 'x'.repeat(9_000_000) })
    await world.load(wanted)
    for (const alert of [...heavy, giant]) await world.load([alert])
    const adapter = await world.start()
    await until('the others', storedAll([...wanted, ...heavy]))
    await until('the drop', () => world.api.state.checkpoint.dropped_total === 1)
    expect(storedIds()).toEqual(idsOf([...wanted, ...heavy]))
    expect(adapter.status).toMatchObject({ unmappable: 1, duplicates: 0 })
  })
})
