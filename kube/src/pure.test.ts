import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from './backoff.ts'
import { errorOfAnswer, errorWithoutAnswer } from './errors.ts'
import { lineSplitter } from './lines.ts'
import { collectionPath, objectPath, withQuery } from './paths.ts'
import { DEPLOYMENTS, NAMESPACES, SECRETS } from './port.ts'

describe('paths', () => {
  it('go by group, scope and subresource', () => {
    expect(collectionPath(NAMESPACES)).toBe('/api/v1/namespaces')
    expect(collectionPath(SECRETS, 'a')).toBe('/api/v1/namespaces/a/secrets')
    expect(objectPath(DEPLOYMENTS, { name: 'b', namespace: 'a' }, 'status')).toBe(
      '/apis/apps/v1/namespaces/a/deployments/b/status',
    )
    expect(objectPath(NAMESPACES, { name: 'a', namespace: 'ignored' })).toBe('/api/v1/namespaces/a')
  })
  it('never leave their place, and never name a collection by mistake', () => {
    expect(objectPath(SECRETS, { name: '../x', namespace: 'a/b' })).toBe(
      '/api/v1/namespaces/a%2Fb/secrets/..%2Fx',
    )
    expect(() => objectPath(SECRETS, { name: 'x' })).toThrow('namespace')
    expect(() => objectPath(NAMESPACES, { name: '' })).toThrow('name')
  })
  it('leave out what is not asked', () => {
    expect(withQuery('/a', { b: undefined })).toBe('/a')
    expect(withQuery('/a', { b: 'c=d', e: '1' })).toBe('/a?b=c%3Dd&e=1')
  })
})

describe('lines', () => {
  it('do not depend on how the bytes were cut', () => {
    const texts = fc.array(
      fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => text.replaceAll('\n', ' ')),
    )
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (lines, cuts) => {
        const wanted = lines.filter((line) => line.trim() !== '')
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const seen: string[] = []
        const split = lineSplitter((line) => seen.push(line))
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = cuts[turn % cuts.length] ?? 1
          split(bytes.subarray(at, at + size))
          at += size
        }
        expect(seen).toEqual(wanted)
      }),
    )
  })
  it('leave an unfinished line alone', () => {
    const seen: string[] = []
    lineSplitter((line) => seen.push(line))(Buffer.from('a\nb'))
    expect(seen).toEqual(['a'])
  })
})

describe('errors', () => {
  it('prefer the Status object and its details', () => {
    const body = JSON.stringify({
      kind: 'Status',
      reason: 'AlreadyExists',
      message: 'there',
      details: { retryAfterSeconds: 3 },
    })
    expect(errorOfAnswer('x', 409, {}, body)).toMatchObject({ reason: 'AlreadyExists', retryAfterMs: 3_000 })
    expect(errorOfAnswer('x', 409, {}, 'plain')).toMatchObject({ reason: 'Conflict', retryAfterMs: null })
    expect(errorOfAnswer('x', 503, { 'retry-after': 'soon' }, 'null').retryAfterMs).toBeNull()
  })
  it('name the parts of a refused dual-stack connection', () => {
    const cause = new AggregateError([new Error('refused on ::1'), new Error('refused on 127.0.0.1')], '')
    expect(errorWithoutAnswer('x', 'ConnectionFailed', cause).message).toContain('refused on 127.0.0.1')
  })
})

describe('backoff', () => {
  it('starts at its first delay, never falls below it and stays within 1.4 times its bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const ms = backoffMs(failures, { firstMs: 1_000, maxMs: 6_000, random: () => random })
          expect(ms).toBeGreaterThanOrEqual(1_000)
          expect(ms).toBeLessThanOrEqual(8_400)
        },
      ),
    )
  })
})
