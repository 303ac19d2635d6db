import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redact } from './redact.ts'

const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
const payload = Buffer.from('{"sub":"1234567890","name":"A"}').toString('base64url')
const jwt = `${header}.${payload}.${'s'.repeat(43)}`
// Put together here, so that no scanner takes this file for a leak.
const awsKey = ['AKIA', 'IOSFODNN7EXAMPLE'].join('')
const KEY_WORD = 'PRIVATE'
const pem = (body: string) =>
  `-----BEGIN RSA ${KEY_WORD} KEY-----\n${body}\n-----END RSA ${KEY_WORD} KEY-----`

describe('redact', () => {
  it.each([
    ['private_key', `before ${pem('MIIEpAIBAAKCAQEA')} after`, 'before <REDACTED:private_key> after'],
    ['private_key', `cut ${pem('MIIE').slice(0, 45)}`, 'cut <REDACTED:private_key>'],
    ['private_key', pem('a\\nb').replaceAll('\n', '\\n'), '<REDACTED:private_key>'],
    ['jwt', `Cookie: session=${jwt}; x`, 'Cookie: session=<REDACTED:jwt>; x'],
    ['jwt', `GET /?a=1&t%3D${jwt} HTTP`, 'GET /?a=1&t%3D<REDACTED:jwt> HTTP'],
    ['cloud_key', `key ${awsKey} used`, 'key <REDACTED:cloud_key> used'],
    ['cloud_key', `ghp_${'a1'.repeat(18)}`, '<REDACTED:cloud_key>'],
    ['cloud_key', `AIza${'x'.repeat(35)}`, '<REDACTED:cloud_key>'],
    [
      'credentials',
      'git clone https://me:hunter2@git.example/x',
      'git clone https://<REDACTED:credentials>@git.example/x',
    ],
    ['credentials', 'postgres://app:p:w@db/x', 'postgres://<REDACTED:credentials>@db/x'],
    ['secret', 'mysql --password=hunter2 -u me', 'mysql --password=<REDACTED:secret> -u me'],
    ['secret', 'tool --password hunter2', 'tool --password <REDACTED:secret>'],
    ['secret', '{"password":"hunter2","a":1}', '{"password":"<REDACTED:secret>","a":1}'],
    ['secret', '{"password": "two words","a":1}', '{"password": "<REDACTED:secret>","a":1}'],
    ['secret', String.raw`{\"api_key\":\"hunter2\"}`, String.raw`{\"api_key\":\"<REDACTED:secret>\"}`],
    ['secret', 'DB_PASSWORD=hunter2', 'DB_PASSWORD=<REDACTED:secret>'],
    ['secret', 'POST /?user=a&passwd=hunter2&x=1', 'POST /?user=a&passwd=<REDACTED:secret>&x=1'],
    ['secret', 'Server=db;Pwd=hunter2;', 'Server=db;Pwd=<REDACTED:secret>;'],
    ['secret', 'Authorization: Basic aHVudGVyMg==', 'Authorization: Basic <REDACTED:secret>'],
    ['secret', 'sent Bearer abcdefghijklmnop0123', 'sent Bearer <REDACTED:secret>'],
    ['card', 'card 4111 1111 1111 1111 declined', 'card <REDACTED:card> declined'],
    ['card', 'pan=5555555555554444,', 'pan=<REDACTED:card>,'],
  ])('%s: %s', (_kind, text, expected) => {
    expect(redact(text)).toBe(expected)
  })

  it.each([
    'Failed password for root from 203.0.113.9 port 22 ssh2',
    'alice : TTY=pts/0 ; PWD=/home/alice ; USER=root ; COMMAND=/bin/ls',
    'sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    '1784068753.1394470',
    'at 1784068753139 in milliseconds',
    'order 4111 1111 1111 1112',
    'GET /tokens HTTP/1.1',
    'https://example.org:8443/a@b',
    'user=alice id=42',
  ])('leaves %s as it is', (text) => {
    expect(redact(text)).toBe(text)
  })

  it('changes nothing when it runs again', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(jwt, awsKey, 'password=hunter2', pem('x')),
        (text, secret) => {
          const once = redact(`${text} ${secret} ${text}`)
          expect(once).not.toContain(secret)
          expect(redact(once)).toBe(once)
        },
      ),
    )
  })

  it.each([
    ['digits and spaces', '4 '],
    ['digits', '4'],
    ['dashes', '-----BEGIN '],
    ['headers of keys', `-----BEGIN ${KEY_WORD} KEY-----`],
    ['headers of tokens', 'eyJ'],
    ['tokens', 'eyJhbGciOiJI.'],
    ['schemes', 'a://'],
    ['users', '://a:b'],
    ['secret names', 'secret_access_key'],
    ['pairs', 'password= '],
    ['quotes', 'password="'],
    ['backslashes', String.raw`token\"`],
    ['bearers', 'bearer '],
    ['letters', 'a'],
    ['cloud keys', 'AKIA'],
  ])('takes linear time for %s', (_name, piece) => {
    const elapsed = (length: number) => {
      const text = piece.repeat(Math.ceil(length / piece.length))
      const begin = performance.now()
      redact(text)
      return performance.now() - begin
    }
    elapsed(32_768)
    // Quadratic time would be some 64 times as long for a text eight times as long.
    expect(elapsed(262_144)).toBeLessThan(Math.max(elapsed(32_768), 4) * 30)
  })
})
