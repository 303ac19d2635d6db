import { type Tenant, TENANTS } from '@service/crds'
import { FIELD_MANAGER, type HitFailpoint } from '@service/domain'
import { backoffMs, type KubeClient } from '@service/kube'
import type { Database } from '../db/database.ts'
import { asSystem } from '../db/scope.ts'
import type { Log } from '../log.ts'
import { desiredTenant, type InstallIdentity, type Pins } from './desired.ts'
import { claimMarks, completeMark, type Mark, postponeMark } from './queue.ts'
import { PROJECTOR, readDesired } from './store.ts'

export type MarksLoopOptions = {
  readonly db: Database
  readonly cluster: KubeClient
  readonly log: Log
  readonly install: InstallIdentity
  readonly pins: Pins
  readonly hit: HitFailpoint
  readonly pollMs?: number
}
export type Loop = { readonly wake: () => void; readonly stop: () => Promise<void> }

const BATCH = 10
const POLL_MS = 2_000
const APPLY_MS = 10_000
const RETRY = { firstMs: 1_000, maxMs: 120_000 } as const
const PAUSE = { firstMs: 500, maxMs: 15_000 } as const
const LOOP = { loop: true } as const

/** Carries marked tenants to the cluster until it is stopped; woken by `wake`, and by itself every few seconds. */
export function startMarksLoop(options: MarksLoopOptions): Loop {
  const stopping = new AbortController()
  let wakeUp = (): void => undefined
  let woken = false

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, woken ? 0 : ms)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function run(): Promise<void> {
    let failures = 0
    while (!stopping.signal.aborted) {
      woken = false
      try {
        const worked = await applyMarks(options)
        failures = 0
        if (!worked) await sleep((options.pollMs ?? POLL_MS) * (0.8 + 0.4 * Math.random()))
      } catch (error) {
        failures += 1
        options.log.warn({ err: error }, 'marked tenants cannot be read; trying again')
        await sleep(backoffMs(failures, PAUSE))
      }
    }
  }

  const done = run()
  const wake = (): void => {
    woken = true
    wakeUp()
  }
  return {
    wake,
    async stop() {
      stopping.abort()
      wake()
      await done
    },
  }
}

/** One round over the marks that are due; answers whether there were any. */
export async function applyMarks(options: MarksLoopOptions): Promise<boolean> {
  const marks = await asSystem(options.db, PROJECTOR.reason, (tx) => claimMarks(tx, BATCH), LOOP)
  await Promise.all(marks.map((mark) => applyMark(options, mark)))
  return marks.length > 0
}

async function applyMark(options: MarksLoopOptions, mark: Mark): Promise<void> {
  const { db, cluster, log, hit } = options
  try {
    const rows = await asSystem(db, PROJECTOR.reason, (tx) => readDesired(tx, mark.tenantId), LOOP)
    if (rows !== null) {
      const tenant = desiredTenant(rows, options.install, options.pins)
      await cluster.apply<Tenant>(TENANTS, tenant, {
        fieldManager: FIELD_MANAGER.api,
        force: true,
        timeoutMs: APPLY_MS,
      })
      hit('api.projector.applied')
    }
    await asSystem(db, PROJECTOR.reason, (tx) => completeMark(tx, mark), LOOP)
    hit('api.projector.mark_cleared')
  } catch (error) {
    const delay = backoffMs(mark.attempts + 1, RETRY)
    const message = error instanceof Error ? error.message : 'unknown failure'
    const { tenantId, attempts } = mark
    log.warn({ err: error, tenant_id: tenantId, attempts: attempts + 1 }, 'a tenant was not applied')
    await asSystem(db, PROJECTOR.reason, (tx) => postponeMark(tx, mark, delay, message), LOOP)
  }
}
