import type { Logger } from 'pino'
import { pino } from 'pino'
import { ConfigError } from './environment.ts'
import type { PodConfig } from './environment.ts'

const USAGE_ERROR = 2

export type Workload = {
  readonly healthPort: number
  /** Finishes what is under way, within its own bounds. Never rejects. */
  readonly stop: () => Promise<void>
}

/** The whole life of a workload's process: `--help`, settings, start, a signal, the end. */
export async function runPod<Config extends PodConfig>(parts: {
  readonly name: string
  readonly version: string
  readonly args: readonly string[]
  readonly help: () => string
  readonly readConfig: () => Config
  readonly start: (config: Config, log: Logger) => Promise<Workload>
}): Promise<void> {
  try {
    await live(parts)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = error instanceof ConfigError ? USAGE_ERROR : 1
  }
}

async function live<Config extends PodConfig>(parts: Parameters<typeof runPod<Config>>[0]): Promise<void> {
  const { name, version, args } = parts
  if (args.includes('--help')) return void process.stdout.write(parts.help())
  if (args.includes('--version')) return void process.stdout.write(`${version}\n`)
  if (args.length > 0) throw new ConfigError(`unknown argument\n\n${parts.help()}`)
  const config = parts.readConfig()
  const log = pino({
    level: config.logLevel,
    base: { tenant_id: config.tenantId, tenant: config.tenantSlug },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  })
  const workload = await parts.start(config, log)
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, `the ${name} stops`)
    workload.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  log.info({ version, port: workload.healthPort }, `the ${name} has started`)
}
