import { armFailpoint } from '@service/domain'
import { createKubeClient } from '@service/kube'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ConfigError, readOperatorConfig, SETTINGS } from './config.ts'
import { startHealthServer } from './health.ts'
import { startOperator } from './start.ts'

const USAGE = `The operator of tenants, alone. By default it runs inside the API.

Usage: node operator/src/main.ts [--help]

Settings, from the environment:
${Object.entries(SETTINGS)
  .map(([name, text]) => `  ${name}\n      ${text}`)
  .join('\n')}
`

/** Exit codes: 0 stopped or help, 2 wrong use or configuration. */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(USAGE)
    return 0
  }
  if (args.length > 0) {
    process.stderr.write(`unknown argument ${args[0]}\n\n${USAGE}`)
    return 2
  }
  const log = pino({ name: 'operator' })
  const config = readOperatorConfig()
  const { kubeconfigPath, healthPort } = config
  const registry = new Registry()
  const kube = createKubeClient({
    ...(kubeconfigPath === null ? { inCluster: true } : { kubeconfigPath }),
    userAgent: 'service-operator',
    log: { info: (message) => log.info(message) },
  })
  const operator = await startOperator({
    kube,
    config,
    log,
    clock: () => new Date(),
    registry,
    hit: armFailpoint(config.failpoint, () => process.kill(process.pid, 'SIGKILL')),
  })
  const status = () => operator.status()
  const health = healthPort === null ? null : await startHealthServer({ port: healthPort, registry, status })
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
  log.info('stopping')
  await operator.stop()
  await health?.close()
  await kube.close()
  return 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
