import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@service/domain'
import { isKubeError, LEASES } from '@service/kube'
import type { KubeClient, KubeObject } from '@service/kube'
import { monotonicMs } from './monotonic.ts'

/** How long the lease lasts, how long its holder trusts it without a renewal, and how often it is renewed. */
export type LeaseTimes = { readonly durationMs: number; readonly trustMs: number; readonly retryMs: number }

/** One span of leadership. */
export type Term = {
  /** Checked before each write. By the monotonic clock: a process that was stopped for a while finds it false. */
  valid(): boolean
  /** The monotonic instant until which the lease may be trusted unless it is renewed; long ago when it is over. */
  heldUntil(): number
  /** Aborted when nothing new shall be begun: the process stops, or the lease is lost. */
  readonly draining: AbortSignal
  /** Aborted when leadership is over. */
  readonly signal: AbortSignal
}

export type ElectionOptions = {
  readonly kube: KubeClient
  readonly namespace: string
  readonly name: string
  readonly identity: string
  readonly times: LeaseTimes
  readonly clock: Clock
  /** What running work gets when the process stops. */
  readonly drainMs: number
  /** Runs while this process leads; resolves soon after `draining` is aborted. */
  readonly lead: (term: Term) => Promise<void>
  readonly onError: (error: unknown) => void
}

export type Election = {
  isLeader(): boolean
  /** The API server has answered since the last failure. */
  healthy(): boolean
  /** Lets the work drain, then gives the lease back. */
  stop(): Promise<void>
}

export type Lease = KubeObject & {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}
/** Somebody's renewal, as we saw it: its age is measured by our clock, not by the holder's. */
type Sighting = { readonly mark: string; readonly at: number; readonly lastsMs: number }
type Held = { readonly lease: Lease; readonly since: number }

/** Campaigns until it is stopped: leads, loses, and campaigns again without leaving the process. */
export function startElection(options: ElectionOptions): Election {
  const stopping = new AbortController()
  const state = { leading: false, healthy: false }
  const done = campaign(options, state, stopping.signal)
  return {
    isLeader: () => state.leading,
    healthy: () => state.healthy,
    stop: async () => {
      stopping.abort()
      await done
    },
  }
}

type State = { leading: boolean; healthy: boolean }

async function campaign(options: ElectionOptions, state: State, stopping: AbortSignal): Promise<void> {
  let sighting: Sighting | undefined
  while (!stopping.aborted) {
    const attempt = await guarded(options, state, () => tryAcquire(options, sighting))
    sighting = attempt?.sighting ?? sighting
    if (attempt?.held !== undefined) {
      await serve(options, state, attempt.held, stopping)
      sighting = undefined
    }
    await pause(pauseMs(options.times, sighting), stopping)
  }
}

/**
 * Not in step with other candidates, twice as often as a holder renews, so that a renewal is seen while it is young; and
 * again just when what was seen has run out.
 */
function pauseMs({ retryMs }: LeaseTimes, sighting: Sighting | undefined): number {
  const usual = retryMs * (0.4 + 0.2 * Math.random())
  const left = sighting === undefined ? Infinity : sighting.at + sighting.lastsMs - monotonicMs()
  return left > 0 ? Math.min(usual, left + 1) : usual
}

async function guarded<T>(
  options: ElectionOptions,
  state: State,
  attempt: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const result = await attempt()
    state.healthy = true
    return result
  } catch (error) {
    state.healthy = false
    options.onError(error)
    return undefined
  }
}

async function tryAcquire(
  options: ElectionOptions,
  known: Sighting | undefined,
): Promise<{ readonly held?: Held; readonly sighting?: Sighting }> {
  const { kube, namespace, name, identity, times } = options
  const since = monotonicMs()
  const call = { timeoutMs: times.retryMs * 2 }
  const current = await kube.get<Lease>(LEASES, { name, namespace }, call)
  const time = microTime(options.clock())
  const mine = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.ceil(times.durationMs / 1_000)),
    acquireTime: time,
    renewTime: time,
  }
  try {
    if (current === null) {
      const lease = { metadata: { name, namespace }, spec: { ...mine, leaseTransitions: 0 } }
      return { held: { lease: await kube.create<Lease>(LEASES, lease, call), since } }
    }
    const mark = `${current.metadata.uid}/${current.metadata.resourceVersion}`
    const lastsMs = (current.spec?.leaseDurationSeconds ?? 15) * 1_000
    const sighting = known?.mark === mark ? known : { mark, at: monotonicMs(), lastsMs }
    if (!isFree(current, identity, sighting)) return { sighting }
    const spec = { ...mine, leaseTransitions: (current.spec?.leaseTransitions ?? 0) + 1 }
    return { held: { lease: await kube.replace<Lease>(LEASES, { ...current, spec }, call), since } }
  } catch (error) {
    // Another candidate was faster.
    if (isKubeError(error, 'Conflict', 'AlreadyExists')) return {}
    throw error
  }
}

function isFree(lease: Lease, identity: string, sighting: Sighting): boolean {
  const holder = lease.spec?.holderIdentity ?? ''
  if (holder === '' || holder === identity) return true
  return monotonicMs() - sighting.at > sighting.lastsMs
}

/** Leads and renews until the lease is lost, or, when the process stops, until the work has drained. */
async function serve(
  options: ElectionOptions,
  state: State,
  held: Held,
  stopping: AbortSignal,
): Promise<void> {
  const { times } = options
  const ending = new AbortController()
  let validUntil = held.since + times.trustMs
  const term: Term = {
    valid: () => monotonicMs() < term.heldUntil(),
    heldUntil: () => (ending.signal.aborted ? 0 : validUntil),
    draining: AbortSignal.any([stopping, ending.signal]),
    signal: ending.signal,
  }
  const cutOff = (): void => void setTimeout(() => ending.abort(), options.drainMs).unref()
  stopping.addEventListener('abort', cutOff, { once: true })
  state.leading = true
  // A leader whose work has ended, or failed, must not hold the lease.
  const work = options
    .lead(term)
    .catch(options.onError)
    .finally(() => ending.abort())
  let lease: Lease | null = held.lease
  while (lease !== null && !ending.signal.aborted) {
    await pause(times.retryMs, ending.signal)
    if (ending.signal.aborted) break
    const current: Lease = lease
    const startedAt = monotonicMs()
    // Stopped for too long: it may be somebody else's, and nothing is sent for it.
    if (startedAt >= validUntil) {
      lease = null
      break
    }
    const renewed = await guarded(options, state, () => renew(options, current, validUntil))
    if (renewed === null) lease = null
    else if (renewed !== undefined) {
      lease = renewed
      validUntil = startedAt + times.trustMs
    }
    if (monotonicMs() >= validUntil) lease = null
  }
  ending.abort()
  stopping.removeEventListener('abort', cutOff)
  await work
  state.leading = false
  if (lease !== null) await giveBack(options, lease)
}

/** `null` when the lease is somebody else's by now. */
async function renew(options: ElectionOptions, lease: Lease, validUntil: number): Promise<Lease | null> {
  const { kube, times, identity } = options
  const call = { timeoutMs: Math.max(1, Math.min(times.retryMs * 2, validUntil - monotonicMs())) }
  const spec = { ...lease.spec, renewTime: microTime(options.clock()) }
  try {
    return await kube.replace<Lease>(LEASES, { ...lease, spec }, call)
  } catch (error) {
    if (!isKubeError(error, 'Conflict', 'NotFound')) throw error
    // A write of ours whose answer was lost also conflicts.
    const key = { name: options.name, namespace: options.namespace }
    const current = await kube.get<Lease>(LEASES, key, call)
    return current?.spec?.holderIdentity === identity ? current : null
  }
}

async function giveBack(options: ElectionOptions, lease: Lease): Promise<void> {
  const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 }
  await options.kube
    .replace<Lease>(LEASES, { ...lease, spec }, { timeoutMs: options.times.retryMs })
    .catch(options.onError)
}

/** RFC 3339 with microseconds, as Leases have it. */
export const microTime = (at: Date): string => at.toISOString().replace('Z', '000Z')

/** What is over already is a moment's pause. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(1, ms), undefined, { signal }).catch(() => undefined)
}
