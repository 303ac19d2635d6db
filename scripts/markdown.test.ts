import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokenLinks } from './markdown.ts'

const ROOT = resolve(import.meta.dirname, '..')
const FILES = globSync(['*.md', 'docs/**/*.md', '{*,dev/src/*,charts/*}/README.md'], {
  cwd: ROOT,
  exclude: ['node_modules/**'],
})

describe('the links of the documents', () => {
  it('are many', () => {
    expect(FILES).toEqual(expect.arrayContaining(['README.md', 'ARCHITECTURE.md', 'docs/runbook.md']))
    const links = FILES.map((file) => readFileSync(join(ROOT, file), 'utf8').split('](').length - 1)
    expect(links.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(10)
  })

  it.each(FILES)('of %s lead somewhere', (file) => {
    expect(brokenLinks(ROOT, file)).toEqual([])
  })

  it('are told when they do not', () => {
    const root = mkdtempSync(join(tmpdir(), 'service-links-'))
    const links = [
      'b.md',
      'b.md#two-words-code',
      '#here',
      'https://example.org/x',
      'gone.md',
      'b.md#gone',
      '../x',
    ]
    writeFileSync(join(root, 'a.md'), `# Here\n${links.map((each) => `[x](${each})`).join('\n')}\n`)
    writeFileSync(join(root, 'b.md'), '## Two words, `code`\n```sh\n# gone\n```\n')
    expect(brokenLinks(root, 'a.md')).toEqual([
      'a.md: gone.md does not exist',
      'a.md: b.md#gone has no such heading',
      'a.md: ../x leads out of the checkout',
    ])
    rmSync(root, { recursive: true })
  })
})
