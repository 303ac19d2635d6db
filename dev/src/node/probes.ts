import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { portNumber, timingOf } from './pod-spec.ts'
import type { Container, Probe } from './types.ts'

export type ProbeKind = 'Startup' | 'Readiness' | 'Liveness'

export interface ProbeHandlers {
  /** The startup probe has succeeded, or there is none. */
  onStarted: () => void
  onReady: (ready: boolean) => void
  onFailure: (kind: ProbeKind, message: string) => void
  /** The startup or the liveness probe has failed too often. */
  onDead: (kind: ProbeKind) => void
}

/** Probes one running container until the signal: startup first, then readiness and liveness side by side. */
export async function runProbes(
  container: Container,
  podIp: string,
  handlers: ProbeHandlers,
  signal: AbortSignal,
): Promise<void> {
  const attempt = (probe: Probe) => attemptProbe(container, podIp, probe, signal)
  const watch = (kind: ProbeKind, probe: Probe, onResult: (healthy: boolean) => boolean) =>
    watchProbe(
      probe,
      () => attempt(probe),
      (message) => handlers.onFailure(kind, message),
      onResult,
      signal,
    )

  if (container.startupProbe !== undefined) {
    let healthy = false
    await watch('Startup', container.startupProbe, (result) => {
      healthy = result
      return false
    })
    if (signal.aborted) return
    if (!healthy) return handlers.onDead('Startup')
  }
  handlers.onStarted()
  const { readinessProbe, livenessProbe } = container
  if (readinessProbe === undefined) handlers.onReady(true)
  const loops: Array<Promise<void>> = []
  if (readinessProbe !== undefined) {
    loops.push(
      watch('Readiness', readinessProbe, (healthy) => {
        handlers.onReady(healthy)
        return true
      }),
    )
  }
  if (livenessProbe !== undefined) {
    loops.push(
      watch('Liveness', livenessProbe, (healthy) => {
        if (!healthy) handlers.onDead('Liveness')
        return healthy
      }),
    )
  }
  await Promise.all(loops)
}

/**
 * Repeats a probe and reports a result each time one of its thresholds is reached; ends when `onResult`
 * answers false or at the signal.
 */
async function watchProbe(
  probe: Probe,
  attempt: () => Promise<string | undefined>,
  onFailure: (message: string) => void,
  onResult: (healthy: boolean) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const timing = timingOf(probe)
  let successes = 0
  let failures = 0
  await pauseExactly(timing.delayMs, signal)
  while (!signal.aborted) {
    const problem = await attempt()
    if (signal.aborted) return
    successes = problem === undefined ? successes + 1 : 0
    failures = problem === undefined ? 0 : failures + 1
    if (problem !== undefined) onFailure(problem)
    const decided = successes >= timing.successes || failures >= timing.failures
    if (decided && !onResult(problem === undefined)) return
    await pauseExactly(timing.periodMs, signal)
  }
}

async function pauseExactly(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Undefined when the container is well, else what is wrong. */
async function attemptProbe(
  container: Container,
  podIp: string,
  probe: Probe,
  signal: AbortSignal,
): Promise<string | undefined> {
  const target = probe.httpGet ?? probe.tcpSocket
  if (target === undefined) return 'this kind of probe is not supported'
  const port = portNumber(container, target.port)
  if (port === undefined) return `the container has no port named ${target.port}`
  const host = target.host ?? podIp
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timingOf(probe).timeoutMs)])
  try {
    if (probe.httpGet === undefined) return await tcpProbe(host, port, limit)
    return await httpProbe(probe.httpGet, host, port, limit)
  } catch (error) {
    if (limit.aborted) return `no answer from ${host}:${port} in time`
    return error instanceof Error ? error.message : String(error)
  }
}

function httpProbe(
  get: NonNullable<Probe['httpGet']>,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const headers = Object.fromEntries((get.httpHeaders ?? []).map(({ name, value }) => [name, value]))
    const path = get.path ?? '/'
    const options = {
      host,
      port,
      path,
      headers: { 'user-agent': 'kube-probe/local', ...headers },
      signal,
      agent: false,
    }
    // A kubelet does not verify the certificate of an HTTPS probe either: the pod's name is not in it.
    const request =
      get.scheme === 'HTTPS' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
    request.on('error', reject)
    request.on('response', (response) => {
      response.on('error', () => undefined).resume()
      const status = response.statusCode ?? 0
      resolve(status >= 200 && status < 400 ? undefined : `HTTP status ${status} from ${path}`)
    })
    request.end()
  })
}

function tcpProbe(host: string, port: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.destroy()
      resolve(undefined)
    })
  })
}
