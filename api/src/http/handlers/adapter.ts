import { readCheckpoint, writeCheckpoint } from '../../verbs/adapter/checkpoint.ts'
import { type AdapterConfigContext, readAdapterConfig } from '../../verbs/adapter/config.ts'
import { ingestEvents, type IngestContext } from '../../verbs/adapter/events.ts'
import { type HeartbeatContext, recordHeartbeat } from '../../verbs/adapter/health.ts'
import type { Handlers } from '../types.ts'

export type AdapterDependencies = HeartbeatContext & IngestContext & AdapterConfigContext

export const adapterHandlers = (ctx: AdapterDependencies) =>
  ({
    'adapter.health': async ({ principal, body }) => ({
      body: await recordHeartbeat(ctx, { principal, heartbeat: body }),
    }),
    'adapter.events': async ({ principal, body }) => ({
      body: await ingestEvents(ctx, { principal, batch: body }),
    }),
    'adapter.config': async ({ principal }) => ({ body: await readAdapterConfig(ctx, { principal }) }),
    'adapter.checkpoint.get': async ({ principal, query }) => ({
      body: await readCheckpoint(ctx, { principal, source: query.source }),
    }),
    'adapter.checkpoint.put': async ({ principal, body }) => ({
      body: await writeCheckpoint(ctx, { principal, update: body }),
    }),
  }) satisfies Partial<Handlers>
