import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@service/kube'
import { ConfigError as OperatorConfigError, parseOperatorConfig, startOperator } from '@service/operator'
import { bootstrapAdmin, bootstrapOrganization } from './bootstrap.ts'
import {
  ConfigError,
  helpText,
  type MigrateConfig,
  parseMigrateConfig,
  parseServeConfig,
  processEnvironment,
} from './config/index.ts'
import { isUnavailable } from './db/errors.ts'
import { migrate } from './db/migrate.ts'
import { createLogger, type Log } from './log.ts'
import { startService, type StartEmbeddedOperator } from './serve.ts'

const EXIT = { failure: 1, usage: 2 } as const
const STOP_MS = 10_000
const RETRY = { firstMs: 500, maxMs: 10_000 } as const

async function main(args: readonly string[]): Promise<void> {
  const [command = 'serve', ...rest] = args
  if (command === '--help' || command === 'help') return void process.stdout.write(helpText())
  if (rest.length > 0 || (command !== 'serve' && command !== 'migrate')) {
    process.stderr.write(helpText())
    process.exitCode = EXIT.usage
    return
  }
  try {
    await (command === 'serve' ? serve() : prepare())
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof OperatorConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = EXIT.usage
  }
}

async function serve(): Promise<void> {
  const config = parseServeConfig(processEnvironment())
  const log = createLogger(config.logLevel)
  const embedded = config.operator === 'embedded' ? embeddedOperator() : null
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
function embeddedOperator(): StartEmbeddedOperator {
  const config = parseOperatorConfig(processEnvironment())
  return (parts) => startOperator({ ...parts, config })
}

/** The init step: waits for the database, brings it up to date, and sets nothing twice. */
async function prepare(): Promise<void> {
  const config = parseMigrateConfig(processEnvironment())
  const log = createLogger(config.logLevel)
  const host = new URL(config.adminUrl).host
  for (let failures = 1; ; failures += 1) {
    try {
      await migrateAndBootstrap(config, log)
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      log.warn({ err: error, where: host }, 'the database cannot be used; trying again')
      await sleep(backoffMs(failures, RETRY))
    }
  }
}

async function migrateAndBootstrap(config: MigrateConfig, log: Log): Promise<void> {
  const { adminUrl, install, admin } = config
  const clock = (): Date => new Date()
  const { applied } = await migrate({ adminUrl, log })
  await bootstrapOrganization({ adminUrl, ...install, clock, log })
  if (admin !== null) await bootstrapAdmin({ adminUrl, ...admin, clock, log })
  log.info({ applied }, 'the database is up to date')
}

await main(process.argv.slice(2))
