import { readdirSync, readFileSync } from 'node:fs'

export type Usage = {
  /** Processor time of the process itself, and of all children that it has waited for. */
  readonly ownCpuSeconds: number
  readonly childCpuSeconds: number
  /** Most memory (resident) that the process has had since its start, and all its children had together. */
  readonly ownPeakMiB: number
  readonly childPeakMiB: number
  /** Most helm processes that were seen at once. */
  readonly helmAtOnce: number
}

const EVERY_MS = 100
/** Of the unit in /proc/<pid>/stat; 100 on every Linux. */
const TICKS_PER_SECOND = 100
const KIB_PER_MIB = 1_024

/** Reads what a process and its descendants use, from /proc, until asked for the sum. Linux only. */
export function measure(pid: number): () => Usage {
  const before = cpuOf(pid)
  let childPeakMiB = 0
  let helmAtOnce = 0
  const look = (): void => {
    const children = descendants(pid)
    childPeakMiB = Math.max(childPeakMiB, sum(children.map((each) => memory(each.pid, 'VmRSS'))))
    helmAtOnce = Math.max(helmAtOnce, children.filter(({ name }) => name === 'helm').length)
  }
  const timer = setInterval(look, EVERY_MS)
  return () => {
    clearInterval(timer)
    const after = cpuOf(pid)
    return {
      ownCpuSeconds: after.own - before.own,
      childCpuSeconds: after.children - before.children,
      ownPeakMiB: memory(pid, 'VmHWM'),
      childPeakMiB,
      helmAtOnce,
    }
  }
}

type Process = { readonly pid: number; readonly parent: number; readonly name: string; fields: string[] }

/** Fields after the name, which is in brackets and may hold anything: the first is the state. */
function read(pid: number): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    return { pid, parent: Number(fields[1]), name, fields }
  } catch {
    return undefined
  }
}

function cpuOf(pid: number): { own: number; children: number } {
  const fields = read(pid)?.fields
  if (fields === undefined) throw new Error(`process ${pid} is gone, so that nothing can be said about it`)
  const seconds = (...indexes: number[]) =>
    sum(indexes.map((index) => Number(fields[index]))) / TICKS_PER_SECOND
  return { own: seconds(11, 12), children: seconds(13, 14) }
}

function memory(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kib = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]
    return Number(kib ?? 0) / KIB_PER_MIB
  } catch {
    return 0
  }
}

function descendants(root: number): Process[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const processes = all.map((name) => read(Number(name))).filter((each) => each !== undefined)
  const found: Process[] = []
  for (let parents = new Set([root]); parents.size > 0;) {
    const children = processes.filter(({ parent }) => parents.has(parent))
    found.push(...children)
    parents = new Set(children.map(({ pid }) => pid))
  }
  return found
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
