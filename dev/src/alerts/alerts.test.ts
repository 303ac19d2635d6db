import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateAlerts, readAlertsFile, shiftToEndAt } from './index.ts'

const until = new Date('2026-07-14T22:00:00.000Z')
type Shape = {
  id: string
  timestamp: string
  rule: { id: string; level: number; mitre?: object }
  agent: object
}
const make = (count: number, seed = 1) => generateAlerts({ count, seed, until, minutes: 60 }) as Shape[]

describe('generateAlerts', () => {
  it('makes the same from the same seed and others from another', () => {
    expect(make(200)).toEqual(make(200))
    expect(make(200, 2)).not.toEqual(make(200))
  })

  it('fills the minutes before, oldest first, with ids that are never used twice', () => {
    const alerts = make(2_000)
    const moments = alerts.map(({ timestamp }) => Date.parse(timestamp.replace('+0000', 'Z')))
    expect(moments).toEqual(moments.toSorted((left, right) => left - right))
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(until.getTime() - 3_600_000)
    expect(Math.max(...moments)).toBeLessThanOrEqual(until.getTime())
    expect(new Set(alerts.map(({ id }) => id)).size).toBe(2_000)
    expect(alerts[0]?.timestamp).toMatch(/^2026-07-14T\d{2}:\d{2}:\d{2}\.\d{3}\+0000$/)
  })

  it('has every level, many rules, and techniques where they fit', () => {
    const alerts = make(5_000)
    expect(new Set(alerts.map(({ rule }) => rule.level)).size).toBe(16)
    expect(new Set(alerts.map(({ rule }) => rule.id)).size).toBeGreaterThan(25)
    expect(alerts.some(({ rule }) => rule.mitre !== undefined)).toBe(true)
    expect(alerts.some(({ rule }) => rule.mitre === undefined)).toBe(true)
  })

  it('uses only addresses that belong to nobody', () => {
    const addresses = JSON.stringify(make(3_000)).match(/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g) ?? []
    const outside = addresses.filter((address) => !/^(192\.0\.2|198\.51\.100|203\.0\.113)\./.test(address))
    expect(outside).toEqual([])
  })

  it.each([-1, 1.5, Number.NaN])('refuses a count of %s', (count) => {
    expect(() => generateAlerts({ count, seed: 1, until, minutes: 60 })).toThrow(RangeError)
  })
})

describe('shiftToEndAt', () => {
  it('keeps the distances', () => {
    const end = new Date('2026-11-01T00:00:00.000Z')
    const moved = shiftToEndAt(make(50), end) as Shape[]
    expect(moved.at(-1)?.timestamp).toBe('2026-11-01T00:00:00.000+0000')
    expect(moved.map(({ id }) => id)).toEqual(make(50).map(({ id }) => id))
    expect(shiftToEndAt([], end)).toEqual([])
  })

  it('shrinks the distances to what was asked for, in order', () => {
    const end = new Date('2026-11-01T00:00:00.000Z')
    const moved = shiftToEndAt(make(50), end, 60_000) as Shape[]
    const moments = moved.map(({ timestamp }) => Date.parse(timestamp.replace('+0000', 'Z')))
    expect(moments).toEqual(moments.toSorted((left, right) => left - right))
    expect(moments[0]).toBe(end.getTime() - 60_000)
    expect(moments.at(-1)).toBe(end.getTime())
  })
})

describe('readAlertsFile', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'alerts-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  const file = async (content: string | Uint8Array) => {
    const path = join(folder, 'alerts.ndjson')
    await writeFile(path, content)
    return path
  }
  const text = `${make(3)
    .map((alert) => JSON.stringify(alert))
    .join('\n')}\n\n`

  it('reads plain and gzipped files', async () => {
    expect(await readAlertsFile(await file(text))).toEqual(make(3))
    expect(await readAlertsFile(await file(gzipSync(text)))).toEqual(make(3))
  })

  it.each([
    ['{"id":', 'line 4 is not JSON'],
    ['[]', 'line 4 is not an alert'],
    ['{"id":"1","timestamp":"soon","rule":{"level":1}}', 'timestamp must be a date-time'],
    ['{"id":"1","timestamp":"2026-07-14T22:00:00Z","rule":{"level":"1"}}', 'rule.level must be a number'],
    ['{"timestamp":"2026-07-14T22:00:00Z","rule":{"level":1}}', 'line 4'],
  ])('refuses %s and names the line', async (line, message) => {
    await expect(readAlertsFile(await file(text.trimEnd() + `\n${line}\n`))).rejects.toThrow(message)
  })
})
