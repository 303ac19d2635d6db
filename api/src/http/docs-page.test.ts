import { Window } from 'happy-dom'
import { beforeEach, describe, expect, test } from 'vitest'
import { readDocsPage } from './docs-page.ts'
import { openApiDocument } from './openapi/document.ts'

const files = readDocsPage()
const document = JSON.stringify(openApiDocument('1.2.3'))
let window: Window

/** The page as a browser has it, with the served document. */
async function open(hash = ''): Promise<void> {
  window = new Window({ url: `http://localhost:8080/api/docs${hash}` })
  window.document.write(files.page.text.replaceAll(/<link[^>]*>|<script[^>]*><\/script>/g, ''))
  const globals = {
    document: window.document,
    location: window.location,
    localStorage: window.localStorage,
    matchMedia: window.matchMedia.bind(window),
    addEventListener: window.addEventListener.bind(window),
    fetch: async () => ({ ok: true, json: async () => JSON.parse(document) as unknown }),
  }
  // oxlint-disable-next-line typescript/no-implied-eval -- the script is ours, and a browser is not at hand
  const run = new Function(...Object.keys(globals), `return (async () => {${files.script.text}\n})()`)
  await run(...Object.values(globals))
}
const text = (selector: string) => window.document.querySelector(selector)?.textContent ?? ''
const focused = () => window.document.activeElement?.parentElement?.id ?? ''
const press = (key: string) =>
  window.document.activeElement?.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true }))
const shown = () =>
  [...window.document.querySelectorAll('main details:not([hidden])')]
    .map(({ id }) => id)
    .filter((id) => !id.startsWith('schema-'))
function search(words: string): void {
  const input = window.document.querySelector('input')
  if (input === null) throw new Error('there is no search')
  input.value = words
  input.dispatchEvent(new window.Event('input', { bubbles: true }))
}

describe('the page', () => {
  beforeEach(() => open())

  test('shows every operation and schema, by area, with a link to each', () => {
    const { tags, paths, components } = JSON.parse(document)
    const operations = Object.values(paths as object).flatMap((item: object) => Object.keys(item))
    expect(shown()).toHaveLength(operations.length)
    expect(text('#count')).toBe(`${operations.length} operations`)
    expect(text('#version')).toBe('1.2.3')
    const headings = [...window.document.querySelectorAll('main h2')].map(({ textContent }) => textContent)
    expect(headings).toEqual([...tags.map(({ name }: { name: string }) => name), 'Schemas'])
    const links = [...window.document.querySelectorAll('a[href^="#"]')].map((link) =>
      link.getAttribute('href'),
    )
    for (const link of links)
      expect(window.document.getElementById(link?.slice(1) ?? ''), link ?? '').not.toBeNull()
    expect(links.length).toBeGreaterThan(operations.length + Object.keys(components.schemas).length)
  })

  test('finds by any words of path, id, summary or capability', () => {
    search('tenant.users patch')
    expect(shown()).toEqual(['tenant.users.update'])
    expect(text('#count')).toBe('1 operation')
    search('no such thing')
    expect(shown()).toEqual([])
  })

  test('is used by keys alone', () => {
    press('j')
    expect(focused()).toBe('health.live')
    press('j')
    press('j')
    press('k')
    expect(focused()).toBe('health.ready')
    press('/')
    expect(window.document.activeElement?.id).toBe('search')
    search('audit')
    press('Escape')
    expect(shown().length).toBeGreaterThan(20)
  })

  test('is dark or light, and remembers it', () => {
    const button = window.document.querySelector('button')
    button?.click()
    expect(window.document.documentElement.getAttribute('data-theme')).toBe('dark')
    button?.click()
    expect(window.localStorage.getItem('theme')).toBe('light')
  })
})

test('an address names an operation, which is open and has the focus', async () => {
  await open('#mssp.tenants.create')
  const opened = [...window.document.querySelectorAll('details[open]')].map(({ id }) => id)
  expect(opened).toEqual(['mssp.tenants.create'])
  expect(focused()).toBe('mssp.tenants.create')
  expect(text('details[open]')).toMatch(/slug_taken.*email_taken/)
  expect(text('details[open]')).toContain('Idempotency-Key')
})
