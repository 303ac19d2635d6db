import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '@service/pod'
import { help, parse, VARIABLES } from './config.ts'
import { VERSION } from './version.ts'

const MINIMAL = {
  API_URL: 'https://api.example',
  INDEXER_URL: 'http://127.0.0.1:9201/acme',
  TENANT_ID: '01980000-0000-7000-8000-000000000000',
  TENANT_SLUG: 'acme',
  ADAPTER_TOKEN_FILE: '/etc/adapter/token',
}

const messageOf = (env: Readonly<Record<string, string>>): string => {
  try {
    parse(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'nothing is wrong'
}

describe('parse', () => {
  it('has a default for what need not be said', () => {
    expect(parse(MINIMAL)).toMatchObject({
      heartbeatMs: 30_000,
      pollMs: 5_000,
      bindAddress: '0.0.0.0',
      port: 8080,
      indexPattern: 'wazuh-alerts-*',
      logLevel: 'info',
      apiCaFile: undefined,
    })
  })

  it('takes an empty variable for an absent one', () => {
    expect(parse({ ...MINIMAL, POLL_SECONDS: '', API_CA_FILE: ' ' })).toMatchObject({ pollMs: 5_000 })
    expect(messageOf({ ...MINIMAL, API_URL: '' })).toContain('API_URL is missing')
  })

  it('names everything that is missing at once', () => {
    const message = messageOf({})
    for (const name of Object.keys(MINIMAL)) expect(message).toContain(`${name} is missing`)
  })

  it.each([
    ['API_URL', 'ftp://api.example'],
    ['API_URL', 'https://name:hunter2@api.example'],
    ['INDEXER_URL', 'indexer:9200'],
    ['TENANT_ID', 'ACME'],
    ['TENANT_SLUG', 'Acme!'],
    ['HEARTBEAT_SECONDS', '0'],
    ['HEARTBEAT_SECONDS', '1.5'],
    ['POLL_SECONDS', '-1'],
    ['PORT', '65536'],
    ['INDEX_PATTERN', 'a b'],
    ['LOG_LEVEL', 'loud'],
  ] as const)('refuses %s=%s with the expected form and without the value', (name, value) => {
    const message = messageOf({ ...MINIMAL, [name]: value })
    expect(message).toBe(`${name} is wrong: expected ${VARIABLES[name].expected}`)
    expect(message).not.toContain('hunter2')
  })

  it('wants both credentials or neither', () => {
    expect(messageOf({ ...MINIMAL, INDEXER_USERNAME_FILE: '/u' })).toContain('both or neither')
  })
})

it('help lists every variable', () => {
  for (const name of Object.keys(VARIABLES)) expect(help()).toContain(name)
})

it('the version is that of the package', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  expect((JSON.parse(text) as { version: string }).version).toBe(VERSION)
})
