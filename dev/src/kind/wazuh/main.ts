import { part } from './config.ts'
import { startDashboard } from './dashboard.ts'
import { startGateway } from './gateway.ts'
import { startTenantIndexer } from './indexer.ts'
import { startManager } from './manager.ts'

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  manager: startManager,
  indexer: startTenantIndexer,
  dashboard: startDashboard,
  gateway: startGateway,
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
try {
  const start = PARTS[part()]
  if (start === undefined) throw new Error(`PART is none of ${Object.keys(PARTS).join(', ')}`)
  await start()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
