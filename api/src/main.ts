import {
  ConfigError,
  helpText,
  parseMigrateConfig,
  parseSecretsConfig,
  parseServeConfig,
  processEnvironment,
} from './config/index.ts'
import { createLogger } from './log.ts'
import { prepareDatabase } from './prepare.ts'
import type { StartEmbeddedOperator } from './serve.ts'

const EXIT = { failure: 1, usage: 2 } as const
/** The last resort, after the service's own deadline for ending in order. */
const STOP_MS = 30_000

async function main(args: readonly string[]): Promise<void> {
  const [command = 'serve', ...rest] = args
  if (command === '--help' || command === 'help') return void process.stdout.write(helpText())
  const run = COMMANDS.get(command)
  if (rest.length > 0 || run === undefined) {
    process.stderr.write(helpText())
    process.exitCode = EXIT.usage
    return
  }
  try {
    await run()
  } catch (error) {
    if (!isConfigError(error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = EXIT.usage
  }
}

async function serve(): Promise<void> {
  const config = parseServeConfig(processEnvironment())
  const log = createLogger(config.logLevel)
  // The cluster's client takes more than a second to load: only who serves waits for it.
  const { startService } = await import('./serve.ts')
  const embedded = config.operator === 'embedded' ? await embeddedOperator() : null
  const service = await startService({ config, log, startOperator: embedded })

  process.on('unhandledRejection', (error) => {
    service.metrics.unhandled()
    log.error({ err: error }, 'a failure was not handled: this is a bug')
  })
  let stopping = false
  const stop = (why: string, exitCode: number): void => {
    if (stopping) return
    stopping = true
    log.info({ why }, 'stopping')
    setTimeout(() => process.exit(EXIT.failure), STOP_MS).unref()
    service.stop().then(
      () => process.exit(exitCode),
      () => process.exit(EXIT.failure),
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM', 0))
  process.on('SIGINT', () => stop('SIGINT', 0))
  process.on('uncaughtException', (error) => {
    service.metrics.unhandled()
    log.error({ err: error }, 'a failure was not caught: this is a bug, and the process is no longer sound')
    stop('uncaught exception', EXIT.failure)
  })
}

/** Read before anything starts, so that a wrong setting of the operator is told like any other. */
async function embeddedOperator(): Promise<StartEmbeddedOperator> {
  const { parseOperatorConfig, startOperator } = await import('@service/operator')
  const config = parseOperatorConfig(processEnvironment())
  return (parts) => startOperator({ ...parts, config })
}

async function migrate(): Promise<void> {
  const config = parseMigrateConfig(processEnvironment())
  await prepareDatabase(config, createLogger(config.logLevel))
}

async function secrets(): Promise<void> {
  const config = parseSecretsConfig(processEnvironment())
  const { ensureInstallSecrets } = await import('./secrets/install.ts')
  await ensureInstallSecrets(config, createLogger(config.logLevel))
}

/** The operator's room has a class of its own for the same thing. */
const isConfigError = (error: unknown): error is Error =>
  error instanceof ConfigError || (error instanceof Error && error.name === 'ConfigError')

const COMMANDS: ReadonlyMap<string, () => Promise<void>> = new Map([
  ['serve', serve],
  ['migrate', migrate],
  ['secrets', secrets],
])

await main(process.argv.slice(2))
