import { hostname } from 'node:os'
import {
  API_VARIABLES,
  helpText,
  POD_VARIABLES,
  readEnvironment,
  readPodConfig,
  wholeNumber,
} from '@service/pod'
import type { Environment, PodConfig, Variables } from '@service/pod'

export type Config = PodConfig & {
  readonly workerId: string
  readonly tokenFile: string
  /** `undefined`: the tenant has no key yet, and nothing can be worked on. */
  readonly llmApiKey: string | undefined
  readonly concurrency: number
  readonly drainMs: number
  readonly idleMs: number
}

const OWN_VARIABLES = {
  WORKER_ID: { expected: 'at most 128 characters', meaning: 'name of this worker', default: hostname() },
  RUNS_WORKER_TOKEN_FILE: { expected: 'a path', meaning: "file with the worker's token" },
  LLM_API_KEY: {
    expected: 'a key',
    meaning: "the tenant's LLM key; without one nothing is claimed",
    default: '',
  },
  CONCURRENCY: { expected: 'a whole number from 1 to 32', meaning: 'runs at once', default: '1' },
  DRAIN_SECONDS: {
    expected: 'a whole number from 0 to 3600',
    meaning: 'time in which runs may end after a signal, when CONCURRENCY is above 1',
    default: '60',
  },
  IDLE_SECONDS: {
    expected: 'a whole number from 1 to 300',
    meaning: 'longest time between two questions for work',
    default: '15',
  },
} as const satisfies Variables

/** The worker's whole environment. */
export const VARIABLES = { ...API_VARIABLES, ...OWN_VARIABLES, ...POD_VARIABLES } as const

/** Reads the environment; throws a ConfigError that names every wrong variable and the form it should have. */
export const parse = (env: Environment): Config =>
  readEnvironment(VARIABLES, env, (reader) => {
    const { read, optional } = reader
    const concurrency = read('CONCURRENCY', wholeNumber(1, 32))
    const drainMs = read('DRAIN_SECONDS', wholeNumber(0, 3_600)) * 1_000
    return {
      ...readPodConfig(reader),
      workerId: read('WORKER_ID', (text) => (text.length <= 128 ? text : undefined)),
      tokenFile: read('RUNS_WORKER_TOKEN_FILE', (text) => text),
      llmApiKey: optional('LLM_API_KEY'),
      concurrency,
      // S "Tenant configuration": a serial worker gives back what it holds at once.
      drainMs: concurrency > 1 ? drainMs : 0,
      idleMs: read('IDLE_SECONDS', wholeNumber(1, 300)) * 1_000,
    }
  })

export const readConfig = (): Config => parse(process.env)
export const help = (): string => helpText("Works on the runs of a tenant's cases.", VARIABLES)
