import { Slug, uuid } from '@service/wire'
import * as v from 'valibot'

/** Settings that are missing or wrong: one line for each, without the values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** One variable of an environment. `default: ''` makes it optional. */
export type Variable = { readonly expected: string; readonly meaning: string; readonly default?: string }
export type Variables = Readonly<Record<string, Variable>>
export type Environment = Readonly<Record<string, string | undefined>>

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The first lines of every workload's `--help`: who it is and where its API is. */
export const API_VARIABLES = {
  API_URL: { expected: 'an http or https URL without credentials', meaning: "the service's API" },
  TENANT_ID: { expected: 'a lower-case UUID', meaning: 'the tenant that the token belongs to' },
  TENANT_SLUG: { expected: 'the slug of a tenant', meaning: 'for the log' },
  API_CA_FILE: { expected: 'a path', meaning: 'CA certificates (PEM) of the API', default: '' },
} as const satisfies Variables

/** What every workload has beside them. */
export const POD_VARIABLES = {
  BIND_ADDRESS: { expected: 'an address', meaning: 'where the health routes listen', default: '0.0.0.0' },
  PORT: { expected: 'a port from 0 to 65535', meaning: 'port of the health routes', default: '8080' },
  LOG_LEVEL: { expected: LOG_LEVELS.join(', '), meaning: 'the least level that is logged', default: 'info' },
} as const satisfies Variables

export type PodConfig = {
  readonly apiUrl: URL
  readonly apiCaFile: string | undefined
  readonly tenantId: string
  readonly tenantSlug: string
  readonly bindAddress: string
  readonly port: number
  readonly logLevel: LogLevel
}

export type Reader<Name extends string> = {
  /** The converted text of a variable; `undefined` of the conversion means that it is wrong. */
  readonly read: <T>(name: Name, convert: (text: string) => T | undefined) => T
  readonly optional: (name: Name) => string | undefined
  /** Tells of what is wrong with several variables together. */
  readonly problem: (text: string) => void
}

/** Reads an environment; throws a ConfigError that names every wrong variable and the form it should have. */
export function readEnvironment<Name extends string, Config>(
  variables: Readonly<Record<Name, Variable>>,
  env: Environment,
  build: (reader: Reader<Name>) => Config,
): Config {
  const problems: string[] = []
  const read = <T>(name: Name, convert: (text: string) => T | undefined): T => {
    const variable: Variable = variables[name]
    const given = env[name]?.trim() ?? ''
    const text = given === '' ? (variable.default ?? '') : given
    const value = text === '' && variable.default === undefined ? undefined : convert(text)
    if (value === undefined)
      problems.push(`${name} ${given === '' ? 'is missing' : 'is wrong'}: expected ${variable.expected}`)
    // Only used when nothing was wrong.
    return value as T
  }
  const optional = (name: Name) => read(name, (text) => ({ text: text === '' ? undefined : text })).text
  const config = build({ read, optional, problem: (text) => void problems.push(text) })
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return config
}

type CommonName = keyof typeof API_VARIABLES | keyof typeof POD_VARIABLES

/** The part that all workloads share. */
export const readPodConfig = ({ read, optional }: Reader<CommonName>): PodConfig => ({
  apiUrl: read('API_URL', anUrl),
  apiCaFile: optional('API_CA_FILE'),
  tenantId: read('TENANT_ID', matching(uuid)),
  tenantSlug: read('TENANT_SLUG', matching(Slug)),
  bindAddress: read('BIND_ADDRESS', (text) => text),
  port: read('PORT', wholeNumber(0, 65_535)),
  logLevel: read('LOG_LEVEL', (text) => LOG_LEVELS.find((level) => level === text)),
})

/** The text of `--help`. */
export function helpText(use: string, variables: Variables): string {
  const rows = Object.entries(variables).map(([name, variable]) => {
    const fallback =
      variable.default === undefined ? 'required' : variable.default === '' ? 'optional' : variable.default
    return `  ${name.padEnd(22)} ${variable.meaning}; ${variable.expected} (${fallback})`
  })
  return `${use} Set by environment:\n\n${rows.join('\n')}\n`
}

/** An http or https address without credentials, query and fragment. */
export function anUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined
  const parsed = new URL(text)
  const web = parsed.protocol === 'http:' || parsed.protocol === 'https:'
  const plain = parsed.username === '' && parsed.password === '' && parsed.search === '' && parsed.hash === ''
  return web && plain ? parsed : undefined
}

export const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  return /^\d{1,6}$/.test(text) && value >= min && value <= max ? value : undefined
}

export const matching = (schema: v.GenericSchema<string>) => (text: string) =>
  v.is(schema, text) ? text : undefined
