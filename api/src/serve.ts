import type { KubeClient } from '@service/kube'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createApi } from './api.ts'
import { announce, createChecks } from './checks.ts'
import type { ServeConfig } from './config/index.ts'
import { type Context, createContext } from './context.ts'
import { checkDatabase } from './db/database.ts'
import { appListener, type HttpServer, startHttpServer } from './http/server.ts'
import { type ApiMetrics, createFleetGauges, createMetrics } from './metrics.ts'
import { startMetricsServer } from './metrics-server.ts'
import { type Projector, startProjector } from './projector/projector.ts'
import { createReadiness } from './readiness.ts'
import { ensureNamespace } from './secrets/material.ts'
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

/** Less than the ten seconds in which the process ends. */
const REQUEST_GRACE_MS = 6_000

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
  const operator =
    cluster === null || options.startOperator === null
      ? null
      : await options.startOperator({ kube: cluster, log, clock, hit, registry: metrics.registry })
  const { authMode } = config
  const checks = createChecks(context, operator === null ? null : operator.status)
  const ready = createReadiness({ checks, authMode, version: VERSION, clock })
  const app = createApi(context, { metrics, ready, wake: () => projector?.wake() })
  const collect = createFleetGauges(metrics.registry, { db, clock, orphans: () => projector?.orphans() ?? 0 })

  const servers = await listen(config, log, appListener(app, { cookieSecure: config.cookieSecure, log }), {
    registry: metrics.registry,
    collect,
  })
  const announcements = [
    announce(log, 'the database', hostOf(config.database.appUrl), () => checkDatabase(db), stopping.signal),
    ...(cluster === null
      ? []
      : [
          announce(
            log,
            'the cluster',
            config.cluster.kind,
            () => useCluster(context, cluster),
            stopping.signal,
          ),
        ]),
  ]
  return {
    address: servers.api.address,
    metricsAddress: servers.metrics.address,
    metrics,
    async stop() {
      stopping.abort()
      await servers.api.stop(REQUEST_GRACE_MS)
      await Promise.allSettled([operator?.stop(), projector?.stop(), ...announcements])
      await servers.metrics.stop(0)
      await context.close()
    },
  }
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
