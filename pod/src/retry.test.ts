import { describe, expect, it } from 'vitest'
import { ApiError, retryAfterMs } from './api-client.ts'
import { backoffMs, createRetry, pause } from './retry.ts'

describe('retries', () => {
  const times = { firstMs: 1, maxMs: 4 }
  it('wait longer and longer, within bounds, never twice alike', () => {
    expect(backoffMs(1, { firstMs: 100, maxMs: 1_000 }, 0)).toBe(50)
    expect(backoffMs(1, { firstMs: 100, maxMs: 1_000 }, 1)).toBe(100)
    expect(backoffMs(3, { firstMs: 100, maxMs: 1_000 }, 1)).toBe(400)
    expect(backoffMs(500, { firstMs: 100, maxMs: 1_000 }, 1)).toBe(1_000)
  })

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['99999', 300_000],
    ['Tue, 14 Jul 2026 22:00:30 GMT', 30_000],
    ['Tue, 14 Jul 2026 21:00:00 GMT', 0],
    ['soon', undefined],
    [undefined, undefined],
  ])('Retry-After %s is %s ms', (header, expected) => {
    expect(retryAfterMs(header, new Date('2026-07-14T22:00:00Z'))).toBe(expected)
  })

  it('repeat while the API is away, a few times when it fails, never when it refuses', async () => {
    const attempts = async (failures: readonly ConstructorParameters<typeof ApiError>[0][]) => {
      let calls = 0
      const retrying = createRetry(times, new AbortController().signal, () => undefined)
      const result = retrying(() => {
        const failure = failures[calls]
        calls += 1
        return failure === undefined ? Promise.resolve('done') : Promise.reject(new ApiError(failure, 'x'))
      })
      return { outcome: await result.catch((error: unknown) => (error as ApiError).failure), calls }
    }
    const away = Array.from({ length: 20 }, () => 'unreachable' as const)
    expect(await attempts(away)).toEqual({ outcome: 'done', calls: 21 })
    expect(await attempts(['unauthorized', 'unavailable'])).toEqual({ outcome: 'done', calls: 3 })
    expect(await attempts(['failing', 'failing', 'failing', 'failing'])).toEqual({
      outcome: 'failing',
      calls: 3,
    })
    expect(await attempts(['rejecting'])).toEqual({ outcome: 'rejecting', calls: 1 })
    expect(await attempts(['too_large'])).toEqual({ outcome: 'too_large', calls: 1 })
  })

  it('end at once when the workload stops, and call nothing afterwards', async () => {
    const stopping = new AbortController()
    let calls = 0
    const retrying = createRetry({ firstMs: 60, maxMs: 60 }, stopping.signal, () => undefined)
    const result = retrying(() => {
      calls += 1
      return Promise.reject(new ApiError('unreachable', 'x'))
    })
    setTimeout(() => stopping.abort(), 10)
    const begin = performance.now()
    await expect(result).rejects.toThrow('aborted')
    expect(performance.now() - begin).toBeLessThan(50)
    await pause(100, new AbortController().signal)
    expect(calls).toBe(1)
  })
})
