import { pino } from 'pino'
import { startAdapter } from './adapter.ts'
import { ConfigError, help, readConfig } from './config.ts'
import { VERSION } from './version.ts'

const USAGE_ERROR = 2

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return void process.stdout.write(help())
  if (args.includes('--version')) return void process.stdout.write(`${VERSION}\n`)
  if (args.length > 0) throw new ConfigError(`unknown argument\n\n${help()}`)
  const config = readConfig()
  const log = pino({
    level: config.logLevel,
    base: { tenant_id: config.tenantId, tenant: config.tenantSlug },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  })
  const adapter = await startAdapter({ config, log, clock: () => new Date() })
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'the adapter stops')
    adapter.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  log.info({ version: VERSION, port: adapter.healthPort }, 'the adapter has started')
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof ConfigError ? USAGE_ERROR : 1
})
