import { spawn } from 'node:child_process'
import { monotonicMs } from '../monotonic.ts'

/**
 * Runs a command for as long as its parent lives and holds the leader lease, and no longer than a limit. A parent that is
 * killed closes its end of standard input; one that is stopped says no more that the lease is held.
 *
 *     node guard.ts <limit in ms> <command> <argument>…
 *
 * Must be started as leader of a process group: all that the command starts is killed with it. Standard input: lines, each
 * the monotonic instant in ms until which the lease may be trusted; the first one lets the command begin. Descriptor 3 is
 * the command's input, standard error its own. Standard output: one byte when the command runs.
 * Exit codes: the command's; 127 when there is no such program; killed, when it was not to run on.
 */
const LOOK_MS = 50
const [limit = '', command = '', ...args] = process.argv.slice(2)
const latest = monotonicMs() + Number(limit)
let heldUntil = Infinity
let begun = false
let unread = ''

function killAll(): void {
  process.kill(-process.pid, 'SIGKILL')
}

function begin(): void {
  begun = true
  const child = spawn(command, args, { stdio: [3, 'ignore', 'inherit'] })
  child.once('spawn', () => process.stdout.write('.'))
  child.once('error', (error) => {
    process.stderr.write(`${error.message}\n`, () => process.exit(127))
  })
  child.once('exit', (code) => process.exit(code ?? 128))
}

function look(): void {
  // What cannot be read is no permission: then neither comparison holds.
  if (!(monotonicMs() < heldUntil && monotonicMs() < latest)) killAll()
}

// The group is asked to end: the command decides when, within the limits.
process.on('SIGTERM', () => undefined)
process.stdout.on('error', () => undefined)
process.stdin.on('error', killAll)
process.stdin.on('close', killAll)
process.stdin.setEncoding('utf8').on('data', (text: string) => {
  const lines = (unread + text).split('\n')
  unread = lines.pop() ?? ''
  const newest = lines.at(-1)
  if (newest === undefined) return
  heldUntil = Number(newest)
  look()
  if (!begun) begin()
})
setInterval(look, LOOK_MS)
