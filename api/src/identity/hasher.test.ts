import { hash } from '@node-rs/argon2'
import { describe, expect, test } from 'vitest'
import { createPasswordHasher, hasOurParameters } from './hasher.ts'
import { newSessionId, sessionIdOf } from './session-id.ts'

const hasher = createPasswordHasher()

describe('password hashes', () => {
  test('are argon2id strings with exactly the parameters of the policy', async () => {
    const stored = await hasher.hash('a password of mine')
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,p=4\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(hasOurParameters(stored)).toBe(true)
    expect(await hasher.verify(stored, 'a password of mine')).toEqual({ matches: true, fresh: null })
    expect(await hasher.verify(stored, 'a password of mine ')).toEqual({ matches: false })
    expect(await hasher.hash('a password of mine')).not.toBe(stored)
  })

  test('nobody’s hash matches nothing', async () => {
    for (const password of ['', 'a password of mine'])
      expect(await hasher.verify(null, password)).toEqual({ matches: false })
  })

  test('each drifted parameter is noticed, and only with the right password made anew', async () => {
    const ours = { timeCost: 3, memoryCost: 65_536, parallelism: 4, outputLen: 32 }
    for (const drift of [{ timeCost: 2 }, { memoryCost: 32_768 }, { parallelism: 1 }, { outputLen: 16 }]) {
      const stored = await hash('secret enough', { ...ours, ...drift })
      expect(hasOurParameters(stored), JSON.stringify(drift)).toBe(false)
    }
    const stored = await hash('secret enough', { ...ours, timeCost: 1, memoryCost: 1_024 })
    expect(await hasher.verify(stored, 'wrong')).toEqual({ matches: false })
    const verdict = await hasher.verify(stored, 'secret enough')
    expect(verdict.matches && verdict.fresh !== null && hasOurParameters(verdict.fresh)).toBe(true)
  })
})

test('a session id is its cookie and back, in one spelling', () => {
  for (let round = 0; round < 100; round += 1) {
    const { id, cookie } = newSessionId()
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(sessionIdOf(cookie)).toBe(id)
  }
  expect(sessionIdOf('AAAAAAAAAAAAAAAAAAAAAA')).toBe('00000000-0000-0000-0000-000000000000')
  expect(sessionIdOf('AAAAAAAAAAAAAAAAAAAAAB')).toBeNull()
})
