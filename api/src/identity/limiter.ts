import { isIP, isIPv6 } from 'node:net'
import { LOGIN_LIMITER, ServiceError } from '@service/domain'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

export type LoginAttempt = { readonly ip: string; readonly email: string }
export type LoginLimiter = {
  /**
   * Counts the attempt as a failure before it begins, so that parallel ones cannot slip through; fails with
   * `rate_limited`. `refund` takes it back when it was none.
   */
  admit(attempt: LoginAttempt): Promise<{ refund(): Promise<void> }>
}

type Limits = { readonly [Name in keyof typeof LOGIN_LIMITER]: number }

/** In this process only, before the database (decision 2.3). What is forgotten first is the oldest key. */
export function createLoginLimiter(limits: Limits = LOGIN_LIMITER): LoginLimiter {
  const perIp = boundedLimiter(limits.perIp, limits)
  const perEmail = boundedLimiter(limits.perEmail, limits)
  return {
    async admit({ ip, email }) {
      const source = addressKey(ip)
      await perIp.take(source)
      try {
        await perEmail.take(email)
      } catch (error) {
        await perIp.giveBack(source)
        throw error
      }
      return {
        refund: async () => {
          await Promise.all([perIp.giveBack(source), perEmail.giveBack(email)])
        },
      }
    },
  }
}

function boundedLimiter(points: number, { windowMs, maxKeys }: { windowMs: number; maxKeys: number }) {
  const limiter = new RateLimiterMemory({ points, duration: windowMs / 1000 })
  const keys = new Set<string>()
  return {
    async take(key: string): Promise<void> {
      keys.delete(key)
      keys.add(key)
      for (const oldest of keys) {
        if (keys.size <= maxKeys) break
        keys.delete(oldest)
        await limiter.delete(oldest)
      }
      await limiter.consume(key).catch((reason: unknown) => {
        if (!(reason instanceof RateLimiterRes)) throw reason
        const retryAfter = Math.max(1, Math.ceil(reason.msBeforeNext / 1000))
        throw new ServiceError('rate_limited', 'Too many failed sign-ins, try again later', { retryAfter })
      })
    },
    async giveBack(key: string): Promise<void> {
      if (keys.has(key)) await limiter.reward(key)
    },
  }
}

/** An IPv6 customer commands a whole /64. */
export function addressKey(ip: string): string {
  const address = ip.split('%')[0] ?? ''
  if (isIP(address) === 0) return 'unknown'
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return mapped ?? `${groups(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groups(address: string): string[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const before = head === '' ? [] : head.split(':')
  if (tail === undefined) return before
  const after = tail === '' ? [] : tail.split(':')
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}
