import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { monotonicMs } from '../monotonic.ts'
import { HelmError, helmErrorOf } from './error.ts'

export type Run = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly input: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onStarted: () => void
  /** Path of the guard program. */
  readonly guard: string
  /** Until when the leader lease may be trusted, as a monotonic instant; asked again and again. */
  readonly heldUntil: () => number
}

const OUTPUT_BYTES = 16 * 1_024
/** What helm gets to end by itself. */
const GRACE_MS = 5_000
/** How often the guard is told how things stand. */
const TELL_MS = 250

/** Runs helm under its guard (guard.ts), which lets it live only while this process does and leads. Fails with HelmError. */
export async function runHelm(run: Run): Promise<void> {
  if (run.signal.aborted || !(monotonicMs() < run.heldUntil()))
    throw new HelmError('aborted', 'helm was not started', '')
  const limit = String(run.timeoutMs + GRACE_MS)
  const child = spawn(process.execPath, [run.guard, limit, run.command, ...run.args], {
    env: { ...run.env },
    // Leader of a process group of its own: what helm starts ends with it.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-OUTPUT_BYTES)
  })
  // A helm that ends before it has read everything breaks the pipe: its exit code says why.
  for (const stream of child.stdio) stream?.on('error', () => undefined)
  child.stdout?.once('data', run.onStarted)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
    // Nothing that helm has started outlives it, nor the guard.
    child.once('exit', () => signalGroup(child, 'SIGKILL'))
  })
  const limits = limitsOf(run, child)
  try {
    giveInput(child, run.input)
    const code = await ended
    if (code !== 0) throw helmErrorOf(limits.ending(), code, output)
  } catch (error) {
    if (error instanceof HelmError) throw error
    throw new HelmError('not-started', `helm cannot be started: ${String(error)}`, '')
  } finally {
    limits.clear()
  }
}

function giveInput(child: ChildProcess, input: string): void {
  const stream = child.stdio[3]
  if (stream !== null && stream !== undefined && 'end' in stream) stream.end(input)
}

/** Tells the guard how long the lease holds; asks helm to end when it is too slow or not wanted any more, then makes it. */
function limitsOf(run: Run, child: ChildProcess) {
  let ending: 'deadline' | 'aborted' | undefined
  let force: NodeJS.Timeout | undefined
  const tell = (): void => void child.stdin?.write(`${run.heldUntil()}\n`)
  tell()
  const teller = setInterval(tell, TELL_MS)
  const end = (why: 'deadline' | 'aborted'): void => {
    ending ??= why
    clearInterval(teller)
    signalGroup(child, 'SIGTERM')
    force ??= setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS)
  }
  const timer = setTimeout(() => end('deadline'), run.timeoutMs)
  const abort = (): void => end('aborted')
  run.signal.addEventListener('abort', abort, { once: true })
  return {
    ending: () => ending,
    clear: () => {
      clearInterval(teller)
      clearTimeout(timer)
      clearTimeout(force)
      run.signal.removeEventListener('abort', abort)
    },
  }
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, name)
  } catch {
    // It has just ended.
  }
}
