import type { KubeClient } from '@service/kube'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createApi } from './api.ts'
import { announce, createChecks } from './checks.ts'
import type { ServeConfig } from './config/index.ts'
import { type Context, createContext } from './context.ts'
import { checkDatabase } from './db/database.ts'
import { appListener, type HttpServer, startHttpServer } from './http/server.ts'
import { startAuditRetentionJob } from './jobs/audit-retention.ts'
import { startCompleteMaterialJob } from './jobs/complete-material.ts'
import { startIdempotencySweepJob } from './jobs/idempotency-sweep.ts'
import type { Job } from './jobs/loop.ts'
import { startOrphanSecretsJob } from './jobs/orphan-secrets.ts'
import { startRefreshTokensJob } from './jobs/refresh-tokens.ts'
import { type ApiMetrics, createFleetGauges, createMetrics } from './metrics.ts'
import { startMetricsServer } from './metrics-server.ts'
import { type Projector, startProjector } from './projector/projector.ts'
import { createReadiness } from './readiness.ts'
import { ensureNamespace } from './secrets/material.ts'
import { settledWithin } from './settled-within.ts'
import { VERSION } from './version.ts'

/** The operator as this process sees it. */
export type EmbeddedOperator = { readonly status: () => 'ok' | 'failing'; readonly stop: () => Promise<void> }
export type StartEmbeddedOperator = (parts: {
  readonly kube: KubeClient
  readonly log: Logger
  readonly clock: Context['clock']
  readonly registry: Registry
  readonly hit: Context['hit']
}) => Promise<EmbeddedOperator>

export type Service = {
  readonly address: HttpServer['address']
  readonly metricsAddress: HttpServer['address']
  readonly metrics: ApiMetrics
  /** Takes nothing new, finishes what runs, gives everything back. */
  stop(): Promise<void>
}

/** Requests that still run are cut off then. */
const REQUEST_GRACE_MS = 6_000
/** The operator drains for 20 s; with the closing of the pools it stays below the 30 s that a pod is given. */
const DRAIN_MS = 22_000

/** Starts everything. An absent database or cluster keeps it from being ready, not from running. */
export async function startService(options: {
  readonly config: ServeConfig
  readonly log: Logger
  readonly startOperator: StartEmbeddedOperator | null
}): Promise<Service> {
  const { config, log } = options
  const context = createContext(config, log)
  const { db, cluster, clock, hit } = context
  const metrics = createMetrics(VERSION, config.authMode)
  const stopping = new AbortController()
  const projector = cluster === null ? null : startProjectorOf(context, cluster)
  const jobs = [
    startAuditRetentionJob({ db, log }),
    startIdempotencySweepJob({ db, clock, log }),
    ...(cluster === null ? [] : startClusterJobs(context, cluster, () => projector?.wake())),
  ]
  const operator =
    cluster === null || options.startOperator === null
      ? null
      : await options.startOperator({ kube: cluster, log, clock, hit, registry: metrics.registry })
  const { authMode } = config
  const checks = createChecks(context, operator === null ? null : operator.status)
  const ready = createReadiness({ checks, authMode, version: VERSION, clock })
  const app = createApi(context, { metrics, ready, wake: () => projector?.wake() })
  const collect = createFleetGauges(metrics.registry, {
    db,
    clock,
    orphans: () => projector?.orphans() ?? [],
  })

  const servers = await listen(config, log, appListener(app, { cookieSecure: config.cookieSecure, log }), {
    registry: metrics.registry,
    collect,
  })
  const announcements = announceParts(context, stopping.signal)
  return {
    address: servers.api.address,
    metricsAddress: servers.metrics.address,
    metrics,
    async stop() {
      stopping.abort()
      const requests = servers.api.stop(REQUEST_GRACE_MS)
      const work = [
        requests,
        operator?.stop(),
        projector?.stop(),
        ...jobs.map((job) => job.stop()),
        ...announcements,
      ]
      if (!(await settledWithin(DRAIN_MS, work)))
        log.warn({ after_ms: DRAIN_MS }, 'not everything has ended in time; the rest is taken up again later')
      await servers.metrics.stop(0)
      await context.close()
    },
  }
}

/** Says of database and cluster what is missing, until it is there. */
function announceParts(context: Context, signal: AbortSignal): Promise<void>[] {
  const { config, db, cluster, log } = context
  const { database, cluster: place } = config
  const parts = [announce(log, 'the database', hostOf(database.appUrl), () => checkDatabase(db), signal)]
  if (cluster !== null)
    parts.push(announce(log, 'the cluster', place.kind, () => useCluster(context, cluster), signal))
  return parts
}

/** The leader's Lease and the tenants' material need a place before the first tenant. */
async function useCluster({ config }: Context, cluster: KubeClient): Promise<void> {
  await cluster.ready()
  await ensureNamespace(cluster, config.installNamespace)
}

function startProjectorOf(context: Context, cluster: KubeClient): Projector {
  const { config, db, clock, log, hit } = context
  const { chart, images } = config.provisioning
  return startProjector({ db, cluster, clock, log, hit, install: config.install, pins: { chart, images } })
}

function startClusterJobs(context: Context, cluster: KubeClient, wake: () => void): Job[] {
  const { config, db, clock, log, tokens } = context
  const { install, installNamespace } = config
  const common = { db, cluster, clock, log, installNamespace }
  return [
    startOrphanSecretsJob({ ...common, installId: install.installId }),
    startRefreshTokensJob({ ...common, tokens, wake }),
    startCompleteMaterialJob({ ...common, wake }),
  ]
}

async function listen(
  config: ServeConfig,
  log: Logger,
  listener: Parameters<typeof startHttpServer>[0],
  source: { readonly registry: Registry; readonly collect: () => Promise<void> },
): Promise<{ api: HttpServer; metrics: HttpServer }> {
  const api = await startHttpServer(listener, config.listen)
  const metrics = await startMetricsServer({ ...source, listen: config.metricsListen, log })
  log.info({ api: api.address, metrics: metrics.address, version: VERSION }, 'serving')
  return { api, metrics }
}

/** Where the database is, without who enters it. */
const hostOf = (url: string): string => new URL(url).host
