import { describe, expect, test } from 'vitest'
import { addressKey, createLoginLimiter } from './limiter.ts'

const LIMITS = { perIp: 5, perEmail: 3, windowMs: 60_000, maxKeys: 4 } as const
const admitter = () => {
  const limiter = createLoginLimiter(LIMITS)
  return (attempt: { ip: string; email: string }) => limiter.admit(attempt)
}
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: { code: string; extras: { retryAfter: number } }) =>
      `${error.code} ${error.extras.retryAfter > 0}`,
  )

describe('the login limiter', () => {
  test('counts per address and per source; a success is given back', async () => {
    const admit = admitter()
    const success = await admit({ ip: '10.0.0.1', email: 'a' })
    await success.refund()
    for (let round = 0; round < 3; round += 1)
      expect(await codeOf(admit({ ip: '10.0.0.1', email: 'a' }))).toBe('ok')
    expect(await codeOf(admit({ ip: '10.0.0.2', email: 'a' }))).toBe('rate_limited true')
    for (const email of ['b', 'c']) expect(await codeOf(admit({ ip: '10.0.0.1', email }))).toBe('ok')
    expect(await codeOf(admit({ ip: '10.0.0.1', email: 'd' }))).toBe('rate_limited true')
  })

  test('attempts at the same time cannot slip through together', async () => {
    const admit = admitter()
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => codeOf(admit({ ip: `10.0.0.${index}`, email: 'a' }))),
    )
    expect(codes.filter((code) => code === 'ok')).toHaveLength(3)
  })

  test('one that the other limit refuses does not use up this one', async () => {
    const admit = admitter()
    for (let round = 0; round < 3; round += 1) await admit({ ip: '10.0.0.1', email: 'a' })
    for (let round = 0; round < 9; round += 1)
      expect(await codeOf(admit({ ip: '10.0.0.1', email: 'a' }))).toBe('rate_limited true')
    expect(await codeOf(admit({ ip: '10.0.0.1', email: 'b' }))).toBe('ok')
  })

  test('remembers a bounded number of keys, the oldest is forgotten first', async () => {
    const admit = admitter()
    for (let round = 0; round < 3; round += 1) await admit({ ip: '10.0.1.1', email: 'first' })
    for (let other = 0; other < 4; other += 1) await admit({ ip: `10.0.2.${other}`, email: `other-${other}` })
    expect(await codeOf(admit({ ip: '10.0.3.1', email: 'first' }))).toBe('ok')
  })
})

test('an IPv6 source is its /64, a mapped IPv4 source itself', () => {
  expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
  expect(addressKey('2001:DB8:1:2::9')).toBe('2001:db8:1:2::/64')
  expect(addressKey('2001:db8::1')).toBe('2001:db8:0:0::/64')
  expect(addressKey('::1')).toBe('0:0:0:0::/64')
  expect(addressKey('fe80::1%eth0')).toBe('fe80:0:0:0::/64')
  expect(addressKey('::ffff:10.1.2.3')).toBe('10.1.2.3')
  expect(addressKey('10.1.2.3')).toBe('10.1.2.3')
  expect(addressKey('nonsense')).toBe('unknown')
})
