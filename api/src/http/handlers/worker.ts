import { type ClaimContext, claimRun } from '../../verbs/worker/claim.ts'
import type { Handlers } from '../types.ts'

export type WorkerDependencies = ClaimContext

export const workerHandlers = (ctx: WorkerDependencies) =>
  ({
    'worker.runs.claim': async ({ principal, body }) => ({
      body: await claimRun(ctx, { principal, claim: body }),
    }),
  }) satisfies Partial<Handlers>
