import { HEARTBEAT } from '@service/domain'
import { Slug, uuid } from '@service/wire'
import * as v from 'valibot'

export type Config = {
  readonly apiUrl: URL
  readonly indexerUrl: URL
  readonly tenantId: string
  readonly tenantSlug: string
  readonly tokenFile: string
  readonly apiCaFile: string | undefined
  readonly indexerCaFile: string | undefined
  readonly indexerUsernameFile: string | undefined
  readonly indexerPasswordFile: string | undefined
  readonly heartbeatMs: number
  readonly pollMs: number
  readonly bindAddress: string
  readonly port: number
  readonly indexPattern: string
  readonly logLevel: LogLevel
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Settings that are missing or wrong: one line for each, without the values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

type Variable = { readonly expected: string; readonly meaning: string; readonly default?: string }

/** The adapter's whole environment. `default: ''` makes a variable optional. */
export const VARIABLES = {
  API_URL: { expected: 'an http or https URL without credentials', meaning: "the service's API" },
  INDEXER_URL: {
    expected: 'an http or https URL without credentials',
    meaning: "the tenant's indexer; a path is kept",
  },
  TENANT_ID: { expected: 'a lower-case UUID', meaning: 'the tenant that the token belongs to' },
  TENANT_SLUG: { expected: 'the slug of a tenant', meaning: 'for the log' },
  ADAPTER_TOKEN_FILE: { expected: 'a path', meaning: "file with the adapter's token" },
  API_CA_FILE: { expected: 'a path', meaning: 'CA certificates (PEM) of the API', default: '' },
  INDEXER_CA_FILE: { expected: 'a path', meaning: 'CA certificates (PEM) of the indexer', default: '' },
  INDEXER_USERNAME_FILE: {
    expected: 'a path, together with INDEXER_PASSWORD_FILE',
    meaning: "file with the indexer's user name",
    default: '',
  },
  INDEXER_PASSWORD_FILE: {
    expected: 'a path, together with INDEXER_USERNAME_FILE',
    meaning: "file with the indexer's password",
    default: '',
  },
  HEARTBEAT_SECONDS: {
    expected: 'a whole number from 1 to 120',
    meaning: 'time between heartbeats',
    default: String(HEARTBEAT.defaultIntervalMs / 1_000),
  },
  POLL_SECONDS: {
    expected: 'a whole number from 1 to 300',
    meaning: 'time between reads of the indexer',
    default: '5',
  },
  BIND_ADDRESS: { expected: 'an address', meaning: 'where the health routes listen', default: '0.0.0.0' },
  PORT: { expected: 'a port from 0 to 65535', meaning: 'port of the health routes', default: '8080' },
  INDEX_PATTERN: {
    expected: 'index names or patterns, separated by commas',
    meaning: 'which indices hold alerts',
    default: 'wazuh-alerts-*',
  },
  LOG_LEVEL: { expected: LOG_LEVELS.join(', '), meaning: 'the least level that is logged', default: 'info' },
} as const satisfies Readonly<Record<string, Variable>>
type Name = keyof typeof VARIABLES

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the environment; throws a ConfigError that names every wrong variable and the form it should have. */
export function parse(env: Environment): Config {
  const problems: string[] = []
  const read = <T>(name: Name, convert: (text: string) => T | undefined): T => {
    const variable: Variable = VARIABLES[name]
    const given = env[name]?.trim() ?? ''
    const text = given === '' ? (variable.default ?? '') : given
    const value = text === '' && variable.default === undefined ? undefined : convert(text)
    if (value === undefined)
      problems.push(`${name} ${given === '' ? 'is missing' : 'is wrong'}: expected ${variable.expected}`)
    // Only used when nothing was wrong.
    return value as T
  }
  const optional = (name: Name) => read(name, (text) => ({ path: text === '' ? undefined : text })).path
  const config: Config = {
    apiUrl: read('API_URL', url),
    indexerUrl: read('INDEXER_URL', url),
    tenantId: read('TENANT_ID', matching(uuid)),
    tenantSlug: read('TENANT_SLUG', matching(Slug)),
    tokenFile: read('ADAPTER_TOKEN_FILE', (text) => text),
    apiCaFile: optional('API_CA_FILE'),
    indexerCaFile: optional('INDEXER_CA_FILE'),
    indexerUsernameFile: optional('INDEXER_USERNAME_FILE'),
    indexerPasswordFile: optional('INDEXER_PASSWORD_FILE'),
    heartbeatMs: read('HEARTBEAT_SECONDS', wholeNumber(1, 120)) * 1_000,
    pollMs: read('POLL_SECONDS', wholeNumber(1, 300)) * 1_000,
    bindAddress: read('BIND_ADDRESS', (text) => text),
    port: read('PORT', wholeNumber(0, 65_535)),
    indexPattern: read('INDEX_PATTERN', (text) => (/^[^\s/?#"\\]+$/.test(text) ? text : undefined)),
    logLevel: read('LOG_LEVEL', (text) => LOG_LEVELS.find((level) => level === text)),
  }
  if ((config.indexerUsernameFile === undefined) !== (config.indexerPasswordFile === undefined))
    problems.push('INDEXER_USERNAME_FILE and INDEXER_PASSWORD_FILE are wrong: expected both or neither')
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return config
}

export const readConfig = (): Config => parse(process.env)

/** The text of `--help`. */
export function help(): string {
  const rows = Object.entries(VARIABLES as Readonly<Record<string, Variable>>).map(([name, variable]) => {
    const fallback =
      variable.default === undefined ? 'required' : variable.default === '' ? 'optional' : variable.default
    return `  ${name.padEnd(22)} ${variable.meaning}; ${variable.expected} (${fallback})`
  })
  const use = 'Forwards the alerts of a tenant to the API. Set by environment:'
  return `${use}\n\n${rows.join('\n')}\n`
}

function url(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const parsed = new URL(text)
  const web = parsed.protocol === 'http:' || parsed.protocol === 'https:'
  const plain = parsed.username === '' && parsed.password === '' && parsed.search === '' && parsed.hash === ''
  return web && plain ? parsed : undefined
}

const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  return /^\d{1,6}$/.test(text) && value >= min && value <= max ? value : undefined
}

const matching = (schema: v.GenericSchema<string>) => (text: string) =>
  v.is(schema, text) ? text : undefined
