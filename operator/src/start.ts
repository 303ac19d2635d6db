import { LEADER_LEASE_NAME } from '@service/domain'
import type { Clock, HitFailpoint } from '@service/domain'
import type { KubeClient } from '@service/kube'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { OperatorConfig } from './config.ts'
import { startElection } from './lease.ts'
import { createMetrics } from './metrics.ts'
import { runTerm } from './term.ts'
import type { TermState } from './term.ts'

export type OperatorOptions = {
  readonly kube: KubeClient
  readonly config: OperatorConfig
  readonly log: Logger
  readonly clock: Clock
  /** The operator's metrics are added to it; one operator for a registry. */
  readonly registry: Registry
  /** For drills; without it none is ever reached. */
  readonly hit?: HitFailpoint
}

export type OperatorHandle = {
  /** `failing`: the cluster cannot be reached, or a watch is silent beyond its limit. Not leading is `ok`. */
  status(): 'ok' | 'failing'
  isLeader(): boolean
  /** Lets running work finish (at most 20 s), ends everything and gives the lease back. */
  stop(): Promise<void>
}

/** A watch reconnects after 75 s of silence; beyond that it fails to. */
const SILENCE_SECONDS = 90
const DRAIN_MS = 20_000

/** Campaigns, and works on tenants while it leads. Returns at once, also when the cluster is away: it goes on trying. */
export async function startOperator(options: OperatorOptions): Promise<OperatorHandle> {
  const { config, log } = options
  const metrics = createMetrics(options.registry, config.concurrency)
  metrics.leading(false)
  const state: TermState = { silence: () => null }
  const election = startElection({
    kube: options.kube,
    namespace: config.installNamespace,
    name: LEADER_LEASE_NAME,
    identity: config.identity,
    times: config.lease,
    clock: options.clock,
    drainMs: DRAIN_MS,
    lead: async (term) => {
      metrics.leading(true)
      try {
        await runTerm(options, metrics, term, state)
      } finally {
        metrics.leading(false)
        log.info('no longer leading')
      }
    },
    onError: (error) => log.warn({ err: error }, 'leader election: the cluster did not take part'),
  })
  return {
    status: () => {
      if (!election.healthy()) return 'failing'
      return (state.silence() ?? 0) > SILENCE_SECONDS ? 'failing' : 'ok'
    },
    isLeader: () => election.isLeader(),
    stop: () => election.stop(),
  }
}
