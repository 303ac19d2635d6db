import { readFileSync } from 'node:fs'
import { ConfigError } from '@service/pod'
import { describe, expect, it } from 'vitest'
import { help, parse, VARIABLES } from './config.ts'
import { VERSION } from './version.ts'

const MINIMAL = {
  API_URL: 'https://api.example',
  TENANT_ID: '01980000-0000-7000-8000-000000000000',
  TENANT_SLUG: 'acme',
  RUNS_WORKER_TOKEN_FILE: '/var/run/service/token',
}

describe('parse', () => {
  it('has a default for what need not be said', () => {
    expect(parse(MINIMAL)).toMatchObject({
      llmApiKey: undefined,
      concurrency: 1,
      drainMs: 0,
      idleMs: 15_000,
      port: 8080,
    })
    expect(parse({ ...MINIMAL, CONCURRENCY: '2' }).drainMs).toBe(60_000)
  })

  it.each([
    ['CONCURRENCY', '0'],
    ['CONCURRENCY', '33'],
    ['DRAIN_SECONDS', '-1'],
    ['WORKER_ID', 'x'.repeat(129)],
    ['API_URL', 'ftp://api.example'],
  ])('refuses %s=%s without repeating it', (name, value) => {
    const given = () => parse({ ...MINIMAL, [name]: value })
    expect(given).toThrow(ConfigError)
    expect(given).toThrow(`${name} is wrong: expected`)
  })
})

it('help lists every variable and no value', () => {
  for (const name of Object.keys(VARIABLES)) expect(help()).toContain(name)
})

it('the version is that of the package', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  expect((JSON.parse(text) as { version: string }).version).toBe(VERSION)
})
