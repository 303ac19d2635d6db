import { EVENT } from '@service/domain'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { AdapterEvent, EventBatch, Heartbeat, jsonDepth } from './adapter.ts'
import { fieldErrors, jsonPointer } from './problem.ts'
import { ROUTES, type Route } from './routes/index.ts'
import { TenantCreate, TenantListQuery } from './tenant.ts'
import { dateTime, text } from './text.ts'

const errorsOf = (schema: v.GenericSchema, value: unknown) => {
  const result = v.safeParse(schema, value)
  return result.success ? [] : fieldErrors(result.issues)
}

describe('route table', () => {
  const routes = Object.entries(ROUTES) as [string, Route][]

  it('names each method and path once', () => {
    const seen = routes.map(([, route]) => `${route.method} ${route.path}`)
    expect(new Set(seen).size).toBe(seen.length)
  })

  it.each(routes)('%s keeps its class', (_id, route) => {
    const side = /^\/api\/(mssp|tenant|internal)\//.exec(route.path)?.[1]
    if (side === 'mssp' || side === 'tenant') expect(route.access.kind).toBe(side)
    if (side === 'internal') expect(['adapter', 'worker']).toContain(route.access.kind)
    expect((route.path.match(/\{/g) ?? []).length > 0).toBe(route.params !== undefined)
    expect(route.resource !== undefined).toBe(route.params !== undefined)
  })
})

describe('text', () => {
  it('counts code points, not UTF-16 units', () => {
    const schema = text(1, 3)
    expect(v.is(schema, '😀😀😀')).toBe(true)
    expect(v.is(schema, '😀😀😀😀')).toBe(false)
    expect(v.is(schema, '')).toBe(false)
  })

  it.each(['a\u0000b', '\uD800', 'x\uDC00', '\uDC00\uD800'])('refuses %j', (value) => {
    expect(v.is(text(0, 10), value)).toBe(false)
  })
})

describe('dateTime', () => {
  it.each(['2026-07-14T22:39:13.718+0000', '2026-07-14T22:39:13Z', '2026-07-14T22:39:13.718+02:00'])(
    'takes %s',
    (value) => {
      expect(v.is(dateTime, value)).toBe(true)
    },
  )
  it.each(['2026-13-01T00:00:00Z', 'yesterday', '2026-07-14', '2026-07-14T25:00:00Z', ''])(
    'refuses %j',
    (value) => {
      expect(v.is(dateTime, value)).toBe(false)
    },
  )
})

describe('AdapterEvent', () => {
  const minimal = { source_event_id: 'a', severity: 3 }

  it('fills in what is missing and drops what it does not know', () => {
    const event = v.parse(AdapterEvent, { ...minimal, brand_new: 1 })
    expect(event).toMatchObject({ source: 'wazuh', entities: [], rule_id: null, raw: null })
    expect(event).not.toHaveProperty('brand_new')
  })

  it('replaces what PostgreSQL cannot store', () => {
    expect(v.parse(AdapterEvent, { ...minimal, full_log: 'a\u0000b\uD800c' }).full_log).toBe(
      'a\uFFFDb\uFFFDc',
    )
  })

  it.each([
    ['source_event_id', EVENT.sourceEventId],
    ['full_log', EVENT.fullLog],
    ['title', EVENT.title],
    ['description', EVENT.description],
    ['decoder', EVENT.decoder],
    ['rule_id', EVENT.ruleId],
    ['source', EVENT.source],
  ])('%s holds %i characters and not one more', (key, max) => {
    expect(errorsOf(AdapterEvent, { ...minimal, [key]: '😀'.repeat(max) })).toEqual([])
    expect(errorsOf(AdapterEvent, { ...minimal, [key]: 'x'.repeat(max + 1) })[0]).toMatchObject({
      pointer: `/${key}`,
    })
  })

  it.each([-1, 16, 3.5, '3', null, Number.NaN])('refuses severity %s', (severity) => {
    expect(errorsOf(AdapterEvent, { ...minimal, severity })[0]?.pointer).toBe('/severity')
  })

  it('never throws and never echoes what was sent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.stringMatching(/^zz[a-z]{20}$/), (value, marker) => {
        const errors = errorsOf(AdapterEvent, {
          ...minimal,
          entities: value,
          rule_id: [marker],
          severity: marker,
        })
        expect(JSON.stringify(errors)).not.toContain(marker)
      }),
    )
  })
})

describe('EventBatch', () => {
  it('takes 1 to 500 items of any kind and refuses unknown keys', () => {
    expect(errorsOf(EventBatch, { events: [] })[0]?.pointer).toBe('/events')
    expect(errorsOf(EventBatch, { events: Array.from({ length: 500 }, () => null) })).toEqual([])
    expect(errorsOf(EventBatch, { events: Array.from({ length: 501 }, () => null) })).toHaveLength(1)
    expect(errorsOf(EventBatch, { events: [1], extra: 1 })).toEqual([
      { pointer: '/extra', code: 'unknown_key', message: 'is not a known key' },
    ])
  })
})

describe('Heartbeat', () => {
  const beat = { tenant_id: '01980000-0000-7000-8000-000000000000', version: '1', health: 'ok' }
  it('keeps metrics as they are, up to depth 4 and 16 KiB', () => {
    const metrics = { a: { b: { c: { d: 1 } } } }
    expect(v.parse(Heartbeat, { ...beat, metrics }).metrics).toEqual(metrics)
    expect(errorsOf(Heartbeat, { ...beat, metrics: { z: metrics } })[0]?.pointer).toBe('/metrics')
    expect(errorsOf(Heartbeat, { ...beat, metrics: { z: 'x'.repeat(16_400) } })[0]?.pointer).toBe('/metrics')
  })
})

describe('TenantCreate', () => {
  it('needs slug and display name and has a default for the rest', () => {
    expect(v.parse(TenantCreate, { slug: 'acme', display_name: 'Acme' })).toMatchObject({
      profile: 'pilot',
      placement: 'cluster',
      components: { linuxep: { enabled: false } },
      wazuh_ingress: { mode: 'loadbalancer', hostname: '' },
      runs_worker: { concurrency: 1, drain_seconds: 60 },
      triage: { auto_close: false },
    })
    expect(errorsOf(TenantCreate, {}).map((error) => [error.pointer, error.code])).toEqual([
      ['/slug', 'required'],
      ['/display_name', 'required'],
    ])
  })

  it.each([
    [{ profile: null }, '/profile'],
    [{ llm: { api_key: null } }, '/llm/api_key'],
    [{ llm: { base_url: 'http://user:pw@host' } }, '/llm/base_url'],
    [{ runs_worker: { concurrency: 0 } }, '/runs_worker/concurrency'],
    [{ triage: { auto_close: 'yes' } }, '/triage/auto_close'],
    [{ surprise: 1 }, '/surprise'],
    [{ contact_email: 'nobody' }, '/contact_email'],
  ])('refuses %j', (extra, pointer) => {
    expect(errorsOf(TenantCreate, { slug: 'acme', display_name: 'Acme', ...extra })[0]?.pointer).toBe(pointer)
  })
})

describe('lists', () => {
  it('read a repeated key as a list and a single one as a list of one', () => {
    expect(v.parse(TenantListQuery, { state: 'active' }).state).toEqual(['active'])
    expect(v.parse(TenantListQuery, { state: ['active', 'pending'] }).state).toEqual(['active', 'pending'])
    expect(v.parse(TenantListQuery, {})).toMatchObject({ limit: 50, total: false, deleted: false })
  })
  it.each(['0', '201', '-1', '1.5', 'x', ''])('refuses limit %j', (limit) => {
    expect(errorsOf(TenantListQuery, { limit })[0]?.pointer).toBe('/limit')
  })
})

describe('pointers', () => {
  it('escape by RFC 6901', () => {
    expect(jsonPointer(['a/b', '~', 0])).toBe('/a~1b/~0/0')
  })
})

describe('jsonDepth', () => {
  it('counts nesting and stops where told', () => {
    expect(jsonDepth(1, 10)).toBe(0)
    expect(jsonDepth({ a: [{}] }, 10)).toBe(3)
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(jsonDepth(deep, 33)).toBe(34)
  })
})

describe('objects', () => {
  it.each(['branding', 'llm', 'network', 'components'])('refuse an array for %s', (key) => {
    const tenant = { slug: 'acme', display_name: 'Acme', [key]: [] }
    expect(errorsOf(TenantCreate, tenant)).toMatchObject([{ pointer: `/${key}`, code: 'invalid_type' }])
  })
  it('refuse arrays for free-form objects, and what no store can hold in them', () => {
    const heartbeat = { tenant_id: '0197a000-0000-7000-8000-000000000001', version: '1', health: 'ok' }
    expect(v.is(Heartbeat, { ...heartbeat, metrics: { a: { b: 'x' } } })).toBe(true)
    expect(v.is(Heartbeat, { ...heartbeat, metrics: [] })).toBe(false)
    expect(v.is(Heartbeat, { ...heartbeat, metrics: { a: 'x\u0000' } })).toBe(false)
    expect(v.is(Heartbeat, { ...heartbeat, metrics: { a: { '\uD800': 1 } } })).toBe(false)
    expect(v.is(AdapterEvent, { source_event_id: '1', severity: 1, raw: [] })).toBe(false)
  })
  it('moments stay where every store can hold them', () => {
    expect(v.is(dateTime, '0001-01-01T00:00:00+14:00')).toBe(false)
    expect(v.is(dateTime, '9999-12-31T23:59:59-01:00')).toBe(false)
    expect(v.is(dateTime, '9999-12-31T23:59:59Z')).toBe(true)
    expect(v.is(dateTime, '2026-02-29T00:00:00Z')).toBe(false)
    expect(v.is(dateTime, '2028-02-29T00:00:00Z')).toBe(true)
  })
})
