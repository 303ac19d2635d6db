import { HEARTBEAT } from '@service/domain'
import {
  anUrl,
  API_VARIABLES,
  helpText,
  POD_VARIABLES,
  readEnvironment,
  readPodConfig,
  wholeNumber,
} from '@service/pod'
import type { Environment, PodConfig, Variables } from '@service/pod'

export type Config = PodConfig & {
  readonly indexerUrl: URL
  readonly tokenFile: string
  readonly indexerCaFile: string | undefined
  readonly indexerUsernameFile: string | undefined
  readonly indexerPasswordFile: string | undefined
  readonly heartbeatMs: number
  readonly pollMs: number
  readonly indexPattern: string
}

const OWN_VARIABLES = {
  INDEXER_URL: {
    expected: 'an http or https URL without credentials',
    meaning: "the tenant's indexer; a path is kept",
  },
  ADAPTER_TOKEN_FILE: { expected: 'a path', meaning: "file with the adapter's token" },
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
  INDEX_PATTERN: {
    expected: 'index names or patterns, separated by commas',
    meaning: 'which indices hold alerts',
    default: 'wazuh-alerts-*',
  },
} as const satisfies Variables

/** The adapter's whole environment. */
export const VARIABLES = { ...API_VARIABLES, ...OWN_VARIABLES, ...POD_VARIABLES } as const

/** Reads the environment; throws a ConfigError that names every wrong variable and the form it should have. */
export const parse = (env: Environment): Config =>
  readEnvironment(VARIABLES, env, (reader) => {
    const { read, optional } = reader
    const config: Config = {
      ...readPodConfig(reader),
      indexerUrl: read('INDEXER_URL', anUrl),
      tokenFile: read('ADAPTER_TOKEN_FILE', (text) => text),
      indexerCaFile: optional('INDEXER_CA_FILE'),
      indexerUsernameFile: optional('INDEXER_USERNAME_FILE'),
      indexerPasswordFile: optional('INDEXER_PASSWORD_FILE'),
      heartbeatMs: read('HEARTBEAT_SECONDS', wholeNumber(1, 120)) * 1_000,
      pollMs: read('POLL_SECONDS', wholeNumber(1, 300)) * 1_000,
      indexPattern: read('INDEX_PATTERN', (text) => (/^[^\s/?#"\\]+$/.test(text) ? text : undefined)),
    }
    if ((config.indexerUsernameFile === undefined) !== (config.indexerPasswordFile === undefined))
      reader.problem('INDEXER_USERNAME_FILE and INDEXER_PASSWORD_FILE are wrong: expected both or neither')
    return config
  })

export const readConfig = (): Config => parse(process.env)
export const help = (): string => helpText('Forwards the alerts of a tenant to the API.', VARIABLES)
