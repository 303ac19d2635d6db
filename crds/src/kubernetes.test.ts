import { httpUrl } from '@service/wire'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { parseImage } from './image.ts'
import { address, text } from './kubernetes.ts'

describe('a text', () => {
  it('is counted in code points, as the API server counts', () => {
    const schema = text(2, 'Two.')
    expect(v.safeParse(schema, '🛡🛡').success).toBe(true)
    expect(v.safeParse(schema, '🛡🛡🛡').success).toBe(false)
    expect(v.safeParse(schema, 'abc').success).toBe(false)
  })
})

describe('an address', () => {
  const authority = fc.webAuthority({ withUserInfo: true, withPort: true, withIPv4: true, withIPv6: true })
  const urls = fc.oneof(
    fc.webUrl({ authoritySettings: { withUserInfo: true }, withQueryParameters: true, withFragments: true }),
    fc
      .tuple(
        fc.stringMatching(/^[ \t]{0,2}https?:[/\\]{0,4}$/),
        authority,
        fc.stringMatching(/^([/\\?#].{0,9})?$/),
      )
      .map((parts) => parts.join('')),
    fc.string().map((rest) => `https:${rest}`),
  )

  it('is taken wherever the wire takes it: what a tenant is created with must reach its resource', () => {
    const wire = httpUrl(500)
    const resource = address('Address.')
    let taken = 0
    fc.assert(
      fc.property(urls, (url) => {
        if (!v.safeParse(wire, url).success) return
        taken += 1
        expect(v.safeParse(resource, url).success, url).toBe(true)
      }),
      { numRuns: 3_000 },
    )
    expect(taken).toBeGreaterThan(300)
  })

  it('carries no credentials of a well-formed URL', () => {
    const settings = { withUserInfo: true } as const
    fc.assert(
      fc.property(fc.webUrl({ authoritySettings: settings }), (url) => {
        const { username, password } = new URL(url)
        fc.pre(username !== '' || password !== '')
        expect(v.safeParse(address('Address.'), url).success, url).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

describe('an image reference', () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
  it.each([
    ['', '', '', ''],
    ['service/adapter', 'service/adapter', '', ''],
    ['service/adapter:1.2', 'service/adapter', '1.2', ''],
    [':1.2', '', '1.2', ''],
    [`@${digest}`, '', '', digest],
    [`:1.2@${digest}`, '', '1.2', digest],
    ['localhost:5000/a', 'localhost:5000/a', '', ''],
    ['localhost:5000/a/b:dev', 'localhost:5000/a/b', 'dev', ''],
    [`r.example/a@${digest}`, 'r.example/a', '', digest],
  ])('"%s" is read', (reference, repository, tag, digest) => {
    expect(parseImage(reference)).toEqual({ repository, tag, digest })
  })
  it.each(['A/b', 'a b', 'a:', 'a@sha256:12', '/a', 'a//b', 'a:b:c', `a@${digest}@${digest}`])(
    '"%s" is none',
    (reference) => {
      expect(parseImage(reference)).toBeUndefined()
    },
  )
})
