import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@service/kube'
import type { Context } from './context.ts'
import { checkDatabase, migrationsCurrent } from './db/database.ts'
import type { Log } from './log.ts'
import type { Checks } from './readiness.ts'

const CLUSTER_MS = 2_500
const RETRY = { firstMs: 500, maxMs: 10_000 } as const

/** What readiness looks at (decision 1.11). `operator` answers whether it works, or is `null` when it is not here. */
export function createChecks(context: Context, operator: (() => 'ok' | 'failing') | null): Checks {
  const { db, cluster } = context
  return {
    database: () => checkDatabase(db),
    migrations: async () => {
      if (!(await migrationsCurrent(db))) throw new Error('migrations are missing')
    },
    signing_keys: () => checkSigningKeys(context),
    cluster: cluster === null ? null : () => cluster.ready({ timeoutMs: CLUSTER_MS }),
    operator:
      operator === null
        ? null
        : async () => {
            if (operator() !== 'ok') throw new Error('the operator fails')
          },
  }
}

/** A token of each kind, made and read with the keys that are configured. */
async function checkSigningKeys({ tokens }: Context): Promise<void> {
  const subject = { tenantId: '00000000-0000-4000-8000-000000000000', tokenVersion: 1 }
  for (const kind of ['adapter', 'worker'] as const)
    await tokens.verify(kind, (await tokens.mint(kind, subject)).token)
}

/** Says what is missing until it is there; the process serves meanwhile and answers that it is not ready. */
export async function announce(
  log: Log,
  what: string,
  where: string,
  check: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await check()
      if (failures > 1) log.info({ where }, `${what} is there now`)
      return
    } catch (error) {
      log.warn({ err: error, where }, `${what} cannot be used; trying again`)
      await sleep(backoffMs(failures, RETRY), undefined, { signal }).catch(() => undefined)
    }
  }
}
