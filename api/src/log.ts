import { timestamp } from '@service/domain'
import { systemClock } from './clock.ts'
import { pino, type Logger } from 'pino'

/** What the rooms' code needs of a logger; pino's fits. */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const SECRET_KEYS = [
  'password',
  'old_password',
  'new_password',
  'temporary_password',
  'token',
  'authorization',
  'cookie',
  'api_key',
  'llm_api_key',
  'full_log',
  'prompt',
]

/** One JSON line an entry, on standard output; secrets are cut out by key, wherever they stand up to two levels deep. */
export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    messageKey: 'msg',
    timestamp: () => `,"time":"${timestamp(systemClock())}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    redact: {
      paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
      censor: '[redacted]',
    },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

type Described = { type: string; message: string; stack?: string; code?: string; cause?: Described }

/** What may be said of a failure: never the fields in which a database driver repeats rows and parameters. */
export function describeError(error: unknown, depth = 0): Described {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error' }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause =
    error.cause === undefined || depth >= 4 ? {} : { cause: describeError(error.cause, depth + 1) }
  const stack = error.stack === undefined ? {} : { stack: error.stack }
  return { type: error.name, message: error.message, ...stack, ...code, ...cause }
}
