import { systemClock } from './clock.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { bootstrapAdmin, bootstrapOrganization } from './bootstrap.ts'
import type { MigrateConfig } from './config/index.ts'
import { isUnavailable } from './db/errors.ts'
import { ensureRoles, migrate } from './db/migrate.ts'
import type { Log } from './log.ts'

const RETRY_MS = 1_000

/** The init step: waits for the database, brings it up to date, and sets nothing twice. */
export async function prepareDatabase(config: MigrateConfig, log: Log): Promise<void> {
  const { host } = new URL(config.adminUrl)
  for (;;) {
    try {
      await prepareOnce(config, log)
      return
    } catch (error) {
      if (!isUnavailable(error)) throw error
      log.warn({ err: error, where: host }, 'the database cannot be used; trying again')
      await sleep(RETRY_MS * (1 + Math.random()))
    }
  }
}

async function prepareOnce(config: MigrateConfig, log: Log): Promise<void> {
  const { adminUrl, roles, install, admin } = config
  const clock = systemClock
  if (roles !== null) await ensureRoles(roles)
  const { applied } = await migrate({ adminUrl, log })
  await bootstrapOrganization({ adminUrl, ...install, clock, log })
  if (admin !== null) await bootstrapAdmin({ adminUrl, ...admin, clock, log })
  log.info({ applied }, 'the database is up to date')
}
