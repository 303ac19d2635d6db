import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { EVENT } from '@service/domain'
import { AdapterEvent } from '@service/wire'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { mapAlert } from './map.ts'
import type { Mapped } from './map.ts'
import { fit } from './text.ts'

const READ_AT = new Date('2026-07-14T23:00:00.000Z')
const map = (source: unknown, id = 'doc-1') =>
  mapAlert({ id, index: 'wazuh-alerts-4.x-2026.07.14', source }, READ_AT)
const eventOf = (mapped: Mapped) => {
  if ('dropped' in mapped) throw new Error(`dropped: ${mapped.dropped}`)
  return mapped.event
}

const ALERT = {
  timestamp: '2026-07-14T22:39:13.718+0000',
  rule: {
    level: 10,
    description: 'Many failed logins',
    id: '100112',
    groups: ['syslog', 'sshd'],
    mitre: { id: ['T1110'], tactic: ['Credential Access'], technique: ['Brute Force'] },
  },
  agent: { id: '003', name: 'db-01', ip: '192.0.2.21' },
  id: '1784068753.1394470',
  full_log: 'Failed password for root from 198.51.100.7 port 4242 ssh2; password=hunter2',
  decoder: { name: 'sshd' },
  data: { srcip: '198.51.100.7', srcport: '4242', srcuser: 'root' },
}

describe('mapAlert', () => {
  it('carries over what an alert says', () => {
    expect(eventOf(map(ALERT))).toMatchObject({
      source_event_id: '1784068753.1394470',
      source: 'wazuh',
      severity: 10,
      ts: '2026-07-14T22:39:13.718Z',
      observed_at: '2026-07-14T23:00:00.000Z',
      title: 'Many failed logins',
      description: 'Many failed logins',
      rule_id: '100112',
      rule_groups: ['syslog', 'sshd'],
      decoder: 'sshd',
      asset_ids: ['003'],
      mitre: { ids: ['T1110'], tactics: ['Credential Access'], techniques: ['Brute Force'] },
      full_log: 'Failed password for root from 198.51.100.7 port 4242 ssh2; password=<REDACTED:secret>',
      initial_iocs: [{ type: 'ip', value: '198.51.100.7' }],
      raw: null,
      redaction_version: '1',
    })
  })

  it('names who and what, with role and field', () => {
    expect(eventOf(map(ALERT)).entities).toEqual([
      { type: 'host', value: 'db-01', role: 'target', source_field: 'agent.name' },
      { type: 'ip', value: '192.0.2.21', role: 'target', source_field: 'agent.ip' },
      { type: 'ip', value: '198.51.100.7', role: 'src', source_field: 'data.srcip' },
      { type: 'user', value: 'root', role: 'actor', source_field: 'data.srcuser' },
      { type: 'port', value: '4242', role: 'src', source_field: 'data.srcport' },
    ])
  })

  it('finds hashes of files and of Windows processes', () => {
    const sha256 = 'a'.repeat(64)
    const md5 = 'B'.repeat(32)
    const event = eventOf(
      map({
        rule: { level: 3 },
        syscheck: { sha256_after: sha256 },
        data: { win: { eventdata: { hashes: `MD5=${md5},SHA256=${sha256}` } } },
      }),
    )
    expect(event.entities.map(({ value, role }) => [value, role])).toEqual([
      [sha256, 'target'],
      [md5.toLowerCase(), 'actor'],
      [sha256, 'actor'],
    ])
    expect(event.initial_iocs).toEqual([
      { type: 'hash', value: sha256 },
      { type: 'hash', value: md5.toLowerCase() },
    ])
  })

  it.each([
    ['2026-07-14T22:39:13.718+0200', '2026-07-14T20:39:13.718Z'],
    ['2026-07-14T22:39:13+02:00', '2026-07-14T20:39:13.000Z'],
    ['2026-07-14T22:39:13.123456Z', '2026-07-14T22:39:13.123Z'],
    ['2026-07-14T22:39:13', '2026-07-14T22:39:13.000Z'],
    ['2026-02-30T99:00:00Z', null],
    ['yesterday', null],
    [42, '1970-01-01T00:00:00.042Z'],
    [null, null],
  ])('reads the moment %s', (timestamp, ts) => {
    expect(eventOf(map({ ...ALERT, timestamp })).ts).toBe(ts)
  })

  it.each([
    [16, 15],
    [-3, 0],
    [7.9, 7],
    ['12', 12],
    [1e308, 15],
  ])('clamps level %s to %i', (level, severity) => {
    expect(eventOf(map({ rule: { level } })).severity).toBe(severity)
  })

  it.each([
    {},
    { rule: {} },
    { rule: { level: 'high' } },
    { rule: [3] },
    null,
    'text',
    [],
    { rule: { level: null } },
  ])('drops %j with a reason', (source) => {
    expect(map(source)).toEqual({ dropped: 'it has no rule.level' })
  })

  it('takes the id of the document where the alert has none, and a hash where an id does not fit', () => {
    const idOf = (id: unknown) => eventOf(map({ rule: { level: 1 }, id })).source_event_id
    expect(idOf(undefined)).toBe('doc-1')
    expect(idOf('  ')).toBe('doc-1')
    expect(idOf({})).toBe('doc-1')
    expect(idOf('x'.repeat(128))).toBe('x'.repeat(128))
    expect(idOf('x'.repeat(129))).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(idOf('x'.repeat(129))).not.toBe(idOf('x'.repeat(130)))
    expect(idOf('a\0')).not.toBe(idOf('a\uFFFD'))
  })

  it('counts code points and redacts before it cuts', () => {
    const event = eventOf(map({ rule: { level: 1 }, full_log: '😀'.repeat(5_000) }))
    expect(Array.from(event.full_log ?? '')).toHaveLength(EVENT.fullLog)
    const cut = eventOf(map({ rule: { level: 1 }, full_log: `${'x'.repeat(4_080)} password=hunter2hunter2` }))
    expect(cut.full_log).not.toContain('hunter')
  })

  it('leaves out indicators of quiet alerts and of inside addresses', () => {
    const iocs = (level: number, srcip: string) =>
      eventOf(map({ rule: { level }, data: { srcip } })).initial_iocs
    expect(iocs(3, '8.8.8.8')).toEqual([])
    expect(iocs(7, '8.8.8.8')).toHaveLength(1)
    expect(iocs(7, '2001:4860::8888')).toHaveLength(1)
    for (const ip of ['10.1.2.3', '127.0.0.1', '192.168.1.1', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1'])
      expect(iocs(12, ip)).toEqual([])
  })
})

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('\0', '\uD800', '\uDC00', '😀', 'a', '<', '"', '-----BEGIN PRIVATE KEY-----'),
  }),
  fc.integer({ min: 0, max: 20_000 }).map((length) => '\uDBFF'.repeat(length)),
  fc.integer({ min: 0, max: 20_000 }).map((length) => `${'a'.repeat(length % 3)}${'😀'.repeat(length)}`),
  fc.constantFrom(
    'fe80::1%'.padEnd(900, 'x'),
    '::1',
    'any',
    '1.2.3.4',
    'http://a:b@c/',
    '65536',
    '2026-13-01T00:00:00Z',
  ),
)
const deep = (depth: number): unknown => {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}
const anything = fc.oneof(
  text,
  fc.anything({ withNullPrototype: true, withObjectString: true, withSparseArray: true, withBigInt: true }),
  fc.array(text, { maxLength: 100 }),
  fc.integer({ min: 1, max: 5_000 }).map(deep),
  fc.double(),
)
const level = fc.oneof(fc.double(), fc.integer(), fc.constantFrom('7', '-1', '1e999', ' '))
const hostile = fc.record(
  {
    id: anything,
    timestamp: anything,
    '@timestamp': anything,
    rule: fc.record(
      {
        level,
        id: anything,
        description: anything,
        groups: anything,
        mitre: fc.record({ id: anything, tactic: anything, technique: anything }, { requiredKeys: [] }),
      },
      { requiredKeys: ['level'] },
    ),
    agent: fc.oneof(anything, fc.record({ id: anything, name: anything, ip: anything })),
    decoder: fc.oneof(anything, fc.record({ name: anything })),
    full_log: anything,
    syscheck: fc.record({ sha256_after: anything, sha1_after: anything, md5_after: anything }),
    data: fc.oneof(
      anything,
      fc.record({
        srcip: anything,
        dstip: anything,
        srcuser: anything,
        dstuser: anything,
        srcport: anything,
        url: anything,
        win: fc.record({ eventdata: fc.record({ hashes: anything, image: anything, ipAddress: anything }) }),
      }),
    ),
  },
  { requiredKeys: ['rule'] },
)

describe('hostile documents', () => {
  it('always become an event that fits the wire and stays as it is there', () => {
    fc.assert(
      fc.property(hostile, text, (source, id) => {
        const mapped = map(source, id)
        if ('dropped' in mapped) expect(mapped.dropped).toBe('it has no rule.level')
        else {
          const onTheWire = JSON.parse(JSON.stringify(mapped.event)) as unknown
          expect(v.parse(AdapterEvent, onTheWire)).toEqual(mapped.event)
        }
      }),
      { numRuns: 600 },
    )
  })

  it('become an event or a reason, whatever they are', () => {
    fc.assert(
      fc.property(fc.anything(), (source) => {
        const mapped = map(source)
        expect('dropped' in mapped || v.is(AdapterEvent, mapped.event)).toBe(true)
      }),
    )
  })

  it('do not reach through prototypes', () => {
    const source = JSON.parse(
      '{"rule":{"level":3},"__proto__":{"full_log":"x"},"data":{"__proto__":{"srcip":"1.2.3.4"}}}',
    ) as unknown
    expect(eventOf(map(source))).toMatchObject({ full_log: null, entities: [] })
    expect(map(Object.create({ rule: { level: 3 } }))).toHaveProperty('dropped')
  })

  it('take no long time, however large', () => {
    const huge = {
      rule: { level: 3, description: 'x'.repeat(5e6), groups: Array.from({ length: 1e5 }, () => 'g') },
      full_log: 'eyJ'.repeat(2e6),
      data: { srcip: 'x'.repeat(5e6), url: `http://${'a'.repeat(5e6)}` },
    }
    const begin = performance.now()
    expect(map(huge)).toHaveProperty('event')
    expect(performance.now() - begin).toBeLessThan(1_000)
  })
})

describe('fit', () => {
  it('is at most as long as told, well-formed, and a prefix where nothing had to be replaced', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 12 }), (value, max) => {
        const fitted = fit(value, max)
        expect(Array.from(fitted).length).toBeLessThanOrEqual(max)
        expect(fitted.isWellFormed()).toBe(true)
        const expected = Array.from(value.replaceAll('\0', '\uFFFD').toWellFormed()).slice(0, max).join('')
        expect(fitted).toBe(expected)
      }),
    )
  })
})

const alertsFile = process.env['ALERTS_FILE'] ?? ''

describe('recorded alerts', () => {
  it.skipIf(alertsFile === '')('all become valid events (needs ALERTS_FILE)', async () => {
    expect(existsSync(alertsFile)).toBe(true)
    const ids = new Set<string>()
    let count = 0
    for await (const line of createInterface({ input: createReadStream(alertsFile) })) {
      if (line.trim() === '') continue
      const event = eventOf(map(JSON.parse(line)))
      expect(event.ts).not.toBeNull()
      expect(event.entities.length).toBeGreaterThan(0)
      ids.add(event.source_event_id)
      count += 1
    }
    expect(count).toBeGreaterThan(0)
    expect(ids.size).toBe(count)
  })
})
