import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning, ownRecord, startProcess, stopProcess, stopRecorded } from '../process.ts'
import type { ProcessRecord } from '../process.ts'
import { connectionFile, removeConnection } from './connection.ts'
import type { Connection } from './connection.ts'
import type { SystemConfig } from './config.ts'

const recordFile = (localDir: string): string => join(localDir, 'system.json')
const logFile = (localDir: string): string => join(localDir, 'logs', 'system.log')

/** The supervisor in the background: who it is, and what it has started. */
type Recorded = { readonly supervisor: ProcessRecord; readonly started: readonly ProcessRecord[] }

/** Called by the supervisor, so that `down` finds it and, should it have been killed, what it left. */
export async function recordSystem(localDir: string, started: readonly ProcessRecord[]): Promise<void> {
  const recorded: Recorded = { supervisor: ownRecord('supervisor'), started }
  await writeFile(`${recordFile(localDir)}.new`, JSON.stringify(recorded), { mode: 0o600 })
  await rename(`${recordFile(localDir)}.new`, recordFile(localDir))
}

export const forgetSystem = (localDir: string): Promise<void> => rm(recordFile(localDir), { force: true })

async function readRecorded(localDir: string): Promise<Recorded | undefined> {
  try {
    return JSON.parse(await readFile(recordFile(localDir), 'utf8')) as Recorded
  } catch {
    return undefined
  }
}

export async function readConnection(localDir: string): Promise<Connection | undefined> {
  try {
    return JSON.parse(await readFile(connectionFile(localDir), 'utf8')) as Connection
  } catch {
    return undefined
  }
}

/**
 * Makes sure that a system runs in the background and waits until it is ready, printing its progress.
 * `started` tells whether this call started it. Rejects with the reason when it does not become ready.
 */
export async function ensureUp(
  config: SystemConfig,
  print: (text: string) => void,
): Promise<{ connection: Connection; started: boolean }> {
  const { localDir } = config.paths
  await mkdir(join(localDir, 'logs'), { recursive: true })
  const earlier = await readRecorded(localDir)
  const runs = earlier !== undefined && isRunning(earlier.supervisor)
  if (!runs) {
    if (earlier !== undefined) await stopRecorded(earlier.started)
    await removeConnection(localDir)
  }
  const from = await sizeOf(logFile(localDir))
  const supervisor = runs ? earlier.supervisor : (await startSupervisor(config)).record
  const stopTail = tail(logFile(localDir), from, print)
  try {
    for (;;) {
      const connection = await readConnection(localDir)
      if (config.proxied && connection?.proxy_mssp_url === null)
        throw new Error('the system that runs has no API in proxy mode: stop it first ("make down")')
      if (connection !== undefined) return { connection, started: !runs }
      if (!isRunning(supervisor)) throw new Error(`the system did not start; its log is ${logFile(localDir)}`)
      await sleep(100)
    }
  } finally {
    await stopTail()
  }
}

const startSupervisor = (config: SystemConfig) =>
  startProcess('supervisor', process.execPath, [join(import.meta.dirname, 'main.ts'), 'serve'], {
    logFile: logFile(config.paths.localDir),
    env: process.env,
  })

const SHUTDOWN_MS = 60_000

/** Ends exactly what `up` has started; `false` when nothing ran. */
export async function takeDown(config: SystemConfig): Promise<boolean> {
  const { localDir } = config.paths
  const recorded = await readRecorded(localDir)
  if (recorded === undefined) return false
  const outcome = await stopProcess(recorded.supervisor, SHUTDOWN_MS)
  await stopRecorded(recorded.started)
  await removeConnection(localDir)
  await forgetSystem(localDir)
  return outcome !== 'absent' || recorded.started.some(isRunning)
}

async function sizeOf(path: string): Promise<number> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return 0
  try {
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}

/** Prints what is appended to a file; the returned function prints the rest and ends. */
function tail(path: string, from: number, print: (text: string) => void): () => Promise<void> {
  let position = from
  const ending = new AbortController()
  const copy = async () => {
    const file = await open(path, 'r').catch(() => undefined)
    if (file === undefined) return
    try {
      const { size } = await file.stat()
      if (size <= position) return
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(size - position),
        0,
        size - position,
        position,
      )
      position += bytesRead
      print(buffer.subarray(0, bytesRead).toString('utf8'))
    } finally {
      await file.close()
    }
  }
  const loop = (async () => {
    while (!ending.signal.aborted) {
      await copy()
      await sleep(100)
    }
  })()
  return async () => {
    ending.abort()
    await loop
    await copy()
  }
}
