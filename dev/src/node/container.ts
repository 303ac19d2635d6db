import { rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@service/domain'
import { endGroup, startProcess, stopProcess } from '../process.ts'
import type { ExitInfo, RunningProcess } from '../process.ts'
import type { EventType } from './events.ts'
import { runProbes } from './probes.ts'
import type { ContainerView, Terminated } from './status.ts'
import { StartProblem } from './types.ts'
import type { Container, PodSpec } from './types.ts'

/** How long the node waits before it starts a container again. */
export interface Backoff {
  initialMs: number
  maxMs: number
  /** A container that ran so long starts again without delay. */
  resetMs: number
}

export interface Launch {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string
}

export interface ContainerOptions {
  spec: Container
  podIp: string
  restartPolicy: NonNullable<PodSpec['restartPolicy']>
  graceMs: number
  logFile: string
  /** Where the process is recorded while it runs, so that a later life of the node can end it. */
  recordFile: string
  /** Starts of an earlier life of the node. */
  restartCount: number
  backoff: Backoff
  clock: Clock
  /** Called before each start; rejects with StartProblem when something is missing. */
  prepare: () => Promise<Launch>
  changed: () => void
  event: (type: EventType, reason: string, message: string) => void
}

export interface RunningContainer {
  view: () => ContainerView
  /** Ends the container for good: its preStop pause, SIGTERM, and SIGKILL when the grace is over. */
  stop: (graceMs: number) => Promise<void>
}

/** Keeps one container running as its restart policy says. */
export function runContainer(options: ContainerOptions): RunningContainer {
  const { spec, backoff, clock } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const view: ContainerView = {
    name: spec.name,
    image: spec.image,
    processId: undefined,
    state: { kind: 'waiting', reason: 'ContainerCreating' },
    last: undefined,
    restartCount: options.restartCount,
    started: false,
    ready: false,
  }
  let current: RunningProcess | undefined
  const set = (changes: Partial<ContainerView>): void => {
    Object.assign(view, changes)
    options.changed()
  }

  const tryStart = async (): Promise<RunningProcess | undefined> => {
    try {
      return await start(options, signal)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const known = error instanceof StartProblem
      if (signal.aborted) return undefined
      options.event('Warning', known ? error.event : 'Failed', message)
      set({ state: { kind: 'waiting', reason: known ? error.reason : 'RunContainerError', message } })
      return undefined
    }
  }

  const run = async (running: RunningProcess): Promise<Terminated> => {
    const startedAt = clock()
    set({ processId: running.pid, state: { kind: 'running', startedAt }, started: false, ready: false })
    options.event('Normal', 'Started', `Started container ${spec.name} as process ${running.pid}`)
    const probing = new AbortController()
    const probes = probe(options, running, set, probing.signal)
    const exit = await running.exited
    probing.abort()
    await probes
    endGroup(running.record)
    await rm(options.recordFile, { force: true })
    return terminated(exit, startedAt, clock())
  }

  const live = async (): Promise<void> => {
    let failures = 0
    let starts = 0
    while (!signal.aborted) {
      current = await tryStart()
      if (current === undefined) {
        await delay(Math.min(backoff.initialMs * 2 ** failures++, 10_000), signal)
        continue
      }
      if (starts++ > 0) view.restartCount++
      // A stop that came while the process started has not seen it.
      if (signal.aborted) await stopProcess(current.record, 2_000)
      const end = await run(current)
      current = undefined
      set({ state: { kind: 'terminated', ...end }, started: false, ready: false })
      if (signal.aborted || !restarts(options.restartPolicy, end.exitCode)) return
      if (end.finishedAt.getTime() - end.startedAt.getTime() >= backoff.resetMs) failures = 0
      const pauseMs = failures === 0 ? 0 : Math.min(backoff.initialMs * 2 ** (failures - 1), backoff.maxMs)
      failures++
      const message = `back-off ${pauseMs} ms restarting container ${spec.name}`
      if (pauseMs > 0) options.event('Warning', 'BackOff', `Back-off restarting container ${spec.name}`)
      set({ last: end, state: { kind: 'waiting', reason: 'CrashLoopBackOff', message } })
      await delay(pauseMs, signal)
    }
  }
  const life = live()

  return {
    view: () => ({ ...view }),
    stop: async (graceMs) => {
      const deadline = performance.now() + graceMs
      const running = current
      stopping.abort()
      if (running !== undefined) {
        const preStop = (spec.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000
        await Promise.race([running.exited, delay(Math.min(preStop, graceMs))])
        await stopProcess(running.record, Math.max(0, deadline - performance.now()))
      }
      await life
    },
  }
}

async function start(options: ContainerOptions, signal: AbortSignal): Promise<RunningProcess | undefined> {
  const { command, args, env, cwd } = await options.prepare()
  if (signal.aborted) return undefined
  const started = await startProcess(options.spec.name, command, args, { logFile: options.logFile, env, cwd })
  await writeFile(options.recordFile, JSON.stringify(started.record))
  return started
}

async function probe(
  options: ContainerOptions,
  running: RunningProcess,
  set: (changes: Partial<ContainerView>) => void,
  signal: AbortSignal,
): Promise<void> {
  const { spec, event } = options
  const handlers = {
    onStarted: () => set({ started: true }),
    onReady: (ready: boolean) => set({ ready }),
    onFailure: (kind: string, message: string) =>
      event('Warning', 'Unhealthy', `${kind} probe failed: ${message}`),
    onDead: (kind: string) => {
      event(
        'Normal',
        'Killing',
        `Container ${spec.name} failed its ${kind.toLowerCase()} probe and is restarted`,
      )
      stopProcess(running.record, options.graceMs).catch((error: unknown) =>
        event('Warning', 'FailedKillPod', String(error)),
      )
    },
  }
  await runProbes(spec, options.podIp, handlers, signal)
}

function terminated(exit: ExitInfo, startedAt: Date, finishedAt: Date): Terminated {
  const exitCode = exit.signal === null ? (exit.code ?? 0) : 128 + constants.signals[exit.signal]
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt }
}

function restarts(policy: NonNullable<PodSpec['restartPolicy']>, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}
