import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

export type ReconcileResult = 'success' | 'error' | 'requeue_after'

/** Under the names of controller-runtime, so that its dashboards fit. Made once for a registry. */
export type OperatorMetrics = {
  reconciled(result: ReconcileResult, seconds: number): void
  enqueued(): void
  retried(): void
  queue(depth: number, running: number): void
  leading(leading: boolean): void
  silence(kind: string, seconds: number): void
}

const CONTROLLER = 'tenant'
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30, 60, 120]

export function createMetrics(registry: Registry, concurrency: number): OperatorMetrics {
  const shared = { registers: [registry] }
  const by = { controller: CONTROLLER }
  const total = new Counter({
    ...shared,
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciliations per controller and result.',
    labelNames: ['controller', 'result'],
  })
  const errors = new Counter({
    ...shared,
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciliations that failed.',
    labelNames: ['controller'],
  })
  const duration = new Histogram({
    ...shared,
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Time of one reconciliation.',
    labelNames: ['controller'],
    buckets: SECONDS,
  })
  const gauge = (name: string, help: string, label: string): Gauge =>
    new Gauge({ ...shared, name, help, labelNames: [label] })
  const counter = (name: string, help: string): Counter =>
    new Counter({ ...shared, name, help, labelNames: ['name'] })
  const workers = gauge('controller_runtime_active_workers', 'Workers that are busy.', 'controller')
  const limit = gauge('controller_runtime_max_concurrent_reconciles', 'Workers at most.', 'controller')
  const depth = gauge('workqueue_depth', 'Keys that wait.', 'name')
  const adds = counter('workqueue_adds_total', 'Keys that were added.')
  const retries = counter('workqueue_retries_total', 'Keys that were added again after a failure.')
  const leader = gauge('leader_election_master_status', '1 while this process leads.', 'name')
  const silence = gauge('service_reflector_silence_seconds', 'Time since the last byte of a watch.', 'kind')
  limit.set(by, concurrency)
  return {
    reconciled: (result, seconds) => {
      total.inc({ ...by, result })
      if (result === 'error') errors.inc(by)
      duration.observe(by, seconds)
    },
    enqueued: () => adds.inc({ name: CONTROLLER }),
    retried: () => retries.inc({ name: CONTROLLER }),
    queue: (waiting, running) => {
      depth.set({ name: CONTROLLER }, waiting)
      workers.set(by, running)
    },
    leading: (leading) => leader.set({ name: 'service-operator' }, leading ? 1 : 0),
    silence: (kind, seconds) => silence.set({ kind }, seconds),
  }
}
