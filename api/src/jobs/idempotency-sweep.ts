import type { Clock } from '@service/domain'
import type { Database } from '../db/database.ts'
import { sweepKeyed } from '../db/idempotency.ts'
import { asInstall } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { type Job, startJob } from './loop.ts'

type Options = { readonly db: Database; readonly clock: Clock; readonly log: Log }

const EVERY_MS = 60 * 60_000

/** Forgets what idempotency keys stood for after their day, about once an hour. */
export const startIdempotencySweepJob = (options: Options, everyMs = EVERY_MS): Job =>
  startJob({
    name: 'idempotency-sweep',
    everyMs,
    work: () => asInstall(options.db, (tx) => sweepKeyed(tx, options.clock())),
    log: options.log,
  })
