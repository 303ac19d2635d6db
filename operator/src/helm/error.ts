/** What helm ended with, and the end of what it said. */
export class HelmError extends Error {
  override readonly name = 'HelmError'
  readonly kind: 'failed' | 'unreachable' | 'busy' | 'deadline' | 'aborted' | 'not-started'
  readonly output: string
  constructor(kind: HelmError['kind'], message: string, output: string) {
    super(message)
    this.kind = kind
    this.output = output
  }
}

/** The guard's: there is no such program. */
const NOT_STARTED = 127
const UNREACHABLE =
  /cluster unreachable|connection refused|connection reset|i\/o timeout|TLS handshake timeout|connection lost|EOF|no such host|currently unable to handle|too many requests|etcdserver|context deadline exceeded/i
const BUSY = /another operation .* is in progress/i
/** Faults of the chart itself, whose texts may speak of ends of files and the like. */
const CHART_FAULT = /parse error|template: |execution error|don't meet the specifications/i

/** The error behind an end of helm other than success. */
export function helmErrorOf(
  ending: 'deadline' | 'aborted' | undefined,
  code: number | null,
  output: string,
): HelmError {
  const said = output.trim()
  const last = said.split('\n').findLast((line) => line.startsWith('Error:')) ?? said.split('\n').at(-1) ?? ''
  if (ending === 'deadline') return new HelmError('deadline', 'helm did not end in time', said)
  if (ending === 'aborted') return new HelmError('aborted', 'helm was stopped', said)
  // It or its guard was killed: for want of memory, or because the lease was not renewed.
  if (code === null || code >= 128) return new HelmError('aborted', 'helm was killed', said)
  if (code === NOT_STARTED) return new HelmError('not-started', `helm cannot be started: ${last}`, said)
  if (CHART_FAULT.test(last)) return new HelmError('failed', last, said)
  if (BUSY.test(said)) return new HelmError('busy', last, said)
  if (UNREACHABLE.test(last)) return new HelmError('unreachable', last, said)
  return new HelmError('failed', last === '' ? `helm ended with code ${code}` : last, said)
}
