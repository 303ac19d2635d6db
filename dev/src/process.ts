import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Who a process is. `startTime` is opaque and tells a process from a later one that got the same pid.
 * `group` says that the process leads a process group of its own, which is then signalled as a whole.
 */
export interface ProcessRecord {
  name: string
  pid: number
  startTime: string
  group: boolean
}

export interface ExitInfo {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface RunningProcess {
  record: ProcessRecord
  pid: number
  /** Resolves when the process has ended; never rejects. */
  exited: Promise<ExitInfo>
  /** What the process ended with, or undefined while it runs. */
  exit: () => ExitInfo | undefined
}

export interface StartOptions {
  /** Standard output and standard error are appended to this file. */
  logFile: string
  /** The whole environment of the child; default: the parent's. */
  env?: Readonly<Record<string, string | undefined>>
  cwd?: string
  /** Run as another user (only root may). */
  uid?: number
  gid?: number
  /** Lead a process group of its own: a Ctrl-C in the terminal does not reach it. Default true. */
  detached?: boolean
}

export type StopOutcome = 'stopped' | 'killed' | 'absent'

/**
 * Starts a process and waits until the system has taken it.
 * Rejects with the command in the message when it cannot be started (no such file, not executable).
 */
export async function startProcess(
  name: string,
  command: string,
  args: readonly string[],
  options: StartOptions,
): Promise<RunningProcess> {
  const group = options.detached ?? true
  const log = openSync(options.logFile, 'a')
  let child: ChildProcess
  try {
    child = spawn(command, [...args], {
      stdio: ['ignore', log, log],
      detached: group,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: { ...options.env } }),
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    })
  } finally {
    closeSync(log)
  }
  let ended: ExitInfo | undefined
  const exited = new Promise<ExitInfo>((resolve) => {
    child.once('exit', (code, signal) => {
      ended = { code, signal }
      resolve(ended)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.on('error', (error) => reject(new Error(`cannot start ${name} (${command}): ${error.message}`)))
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`cannot start ${name} (${command}): it got no process id`)
  const record: ProcessRecord = { name, pid, startTime: startTimeOf(pid) ?? 'gone', group }
  return { record, pid, exited, exit: () => ended }
}

/** The record of this process itself. */
export function ownRecord(name: string): ProcessRecord {
  return { name, pid: process.pid, startTime: startTimeOf(process.pid) ?? 'gone', group: false }
}

/** True while exactly the recorded process runs (not a zombie, not a later process with its pid). */
export function isRunning(record: ProcessRecord): boolean {
  return record.startTime !== 'gone' && startTimeOf(record.pid) === record.startTime
}

/**
 * Ends the recorded process: SIGTERM, after `graceMs` (default 10 s) SIGKILL. Signals nothing when the
 * pid belongs to somebody else by now. Rejects only when the process survives SIGKILL for 5 s.
 */
export async function stopProcess(record: ProcessRecord, graceMs = 10_000): Promise<StopOutcome> {
  if (!isRunning(record)) return 'absent'
  signal(record, 'SIGTERM')
  if (await waitGone(record, graceMs)) return 'stopped'
  signal(record, 'SIGKILL')
  if (await waitGone(record, 5_000)) return 'killed'
  throw new Error(`${record.name} (pid ${record.pid}) does not end, even after SIGKILL`)
}

/** Ends recorded processes one after the other, last started first. */
export async function stopRecorded(records: readonly ProcessRecord[], graceMs = 10_000): Promise<void> {
  for (const record of records.toReversed()) await stopProcess(record, graceMs)
}

/** Sends a signal to the recorded process or its group; a process that has just ended is no error. */
export function signal(record: ProcessRecord, name: NodeJS.Signals): void {
  if (!isRunning(record)) return
  try {
    process.kill(record.group ? -record.pid : record.pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Kills what a process that has just ended left in its group. While such a member lives the number cannot
 * belong to anybody else; call it at once, before a new process can get it.
 */
export function endGroup(record: ProcessRecord): void {
  if (!record.group) return
  try {
    process.kill(-record.pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function waitGone(record: ProcessRecord, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  let pause = 5
  while (isRunning(record)) {
    if (performance.now() >= deadline) return false
    await sleep(pause)
    pause = Math.min(pause * 2, 100)
  }
  return true
}

/**
 * Boot id and start tick where /proc exists, elsewhere what `ps` knows; undefined when no such process
 * runs or it is only a zombie.
 */
function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startTimeByPs(pid)
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The command name in parentheses may itself hold spaces and parentheses: read from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields[19]
  if (fields[0] === 'Z' || fields[0] === 'X' || ticks === undefined) return undefined
  return `${bootId()}:${ticks}`
}

function startTimeByPs(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const line = (stdout ?? '').trim()
  if (line === '' || line.startsWith('Z')) return undefined
  return line.replace(/^\S+\s+/, '')
}

let boot: string | undefined
function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  return boot
}
