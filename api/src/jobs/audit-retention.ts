import type { Database } from '../db/database.ts'
import { asSystem } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { type Job, startJob } from './loop.ts'

type Options = { readonly db: Database; readonly log: Log }

const NAME = 'audit-retention'
const EVERY_MS = 60 * 60_000
/** Rows of each table in one transaction. */
const BATCH = 5_000

/** Forgets audit rows after their 90 days, about once an hour. */
export const startAuditRetentionJob = (options: Options, everyMs = EVERY_MS): Job =>
  startJob({ name: NAME, everyMs, work: () => pruneAudit(options), log: options.log })

/** How many rows are gone. What is old enough is the database's own decision (decision 7). */
export async function pruneAudit({ db, log }: Options): Promise<number> {
  let total = 0
  for (;;) {
    const gone = await asSystem(
      db,
      NAME,
      async ({ sql }) => {
        const [row] = await sql<{ gone: number }[]>`select public.prune_audit(${BATCH}) as gone`
        return row?.gone ?? 0
      },
      { loop: true },
    )
    total += gone
    if (gone < BATCH) break
  }
  if (total > 0) log.info({ gone: total }, 'audit rows older than their retention are deleted')
  return total
}
