import { describe, expect, test } from 'vitest'
import { addressRanges } from '../config/parsers.ts'
import { readIdentityHeaders, trustOf } from './identity-headers.ts'

const trusting = (text: string) => trustOf(addressRanges(text) ?? [])

describe('who is trusted', () => {
  const trusts = trusting('10.1.0.0/16, 192.0.2.7/32,fd00:1::/32,::1/128')
  test.each([
    ['10.1.2.3', true],
    ['10.2.0.1', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['::ffff:10.1.2.3', true],
    ['::ffff:a01:203', true],
    ['::ffff:10.2.0.1', false],
    ['::10.1.2.3', false],
    ['64:ff9b::10.1.2.3', false],
    ['fd00:1:ffff::9', true],
    ['FD00:1::9', true],
    ['fd00:2::9', false],
    ['::1', true],
    ['127.0.0.1', false],
    ['fd00:1::9%eth0', true],
    ['nonsense', false],
    ['10.1.2.3, 10.1.2.4', false],
    ['', false],
    [undefined, false],
  ])('%s: %s', (peer, trusted) => expect(trusts(peer)).toBe(trusted))

  test('nobody, when no range is given', () => {
    for (const peer of ['127.0.0.1', '::1', '10.1.2.3', undefined]) expect(trusting('')(peer)).toBe(false)
  })
  test('a range of mapped addresses is one of IPv4', () => {
    expect(trusting('::ffff:10.0.0.0/104')('10.9.9.9')).toBe(true)
    expect(trusting('::ffff:10.0.0.0/104')('11.9.9.9')).toBe(false)
    expect(trusting('0.0.0.0/0')('::1')).toBe(false)
  })
})

describe('what the headers say', () => {
  const names = { user: 'x-user', email: 'x-email', groups: 'x-groups' }
  const near = { peer: '10.0.0.1', trusts: () => true }
  const far = { peer: '10.9.9.9', trusts: () => false }
  const read = (sent: Record<string, string[]>, from: typeof near = near): unknown => {
    try {
      return readIdentityHeaders(sent, names, from)
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
  test.each([
    ['nothing', {}, null],
    ['an address', { 'x-email': ['a@b.example'] }, 'a@b.example'],
    ['a user that is an address', { 'x-user': ['a@b.example'] }, 'a@b.example'],
    ['both: the address counts', { 'x-user': ['ann'], 'x-email': ['a@b.example'] }, 'a@b.example'],
    ['an empty address: the user counts', { 'x-user': ['a@b.example'], 'x-email': [''] }, 'a@b.example'],
    ['groups alone', { 'x-groups': ['a, b'] }, null],
    ['groups beside', { 'x-email': ['a@b.example'], 'x-groups': ['a, b'] }, 'a@b.example'],
    ['other headers', { 'x-forwarded-email': ['a@b.example'] }, null],
    ['the address twice', { 'x-email': ['a@b.example', 'a@b.example'] }, 'untrusted_proxy'],
    ['two addresses', { 'x-email': ['a@b.example,c@d.example'] }, 'untrusted_proxy'],
    ['the user twice', { 'x-email': ['a@b.example'], 'x-user': ['a', 'b'] }, 'untrusted_proxy'],
    ['two users', { 'x-email': ['a@b.example'], 'x-user': ['a, b'] }, 'untrusted_proxy'],
    ['groups twice', { 'x-email': ['a@b.example'], 'x-groups': ['a', 'b'] }, 'untrusted_proxy'],
  ])('%s', (_, sent, said) => expect(read(sent)).toBe(said))

  test('any of them from elsewhere is refused, whatever it says; without them there is nothing to refuse', () => {
    for (const name of Object.values(names))
      for (const value of ['a@b.example', '']) expect(read({ [name]: [value] }, far)).toBe('untrusted_proxy')
    expect(read({ cookie: ['a=b'] }, far)).toBeNull()
  })
})
