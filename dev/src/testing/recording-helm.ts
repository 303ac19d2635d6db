import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type RecordingHelm = {
  /** The program to run in place of helm. */
  readonly command: string
  /** Process ids of all runs, in their order. */
  pids(): Promise<number[]>
}

/** Real helm that writes down under which process id it runs. */
export async function recordingHelm(helm: string, directory: string): Promise<RecordingHelm> {
  const list = join(directory, 'helm.pids')
  const command = join(directory, 'recording-helm')
  await writeFile(list, '')
  await writeFile(command, `#!/bin/sh\necho $$ >> ${list}\nexec ${helm} "$@"\n`, { mode: 0o755 })
  return {
    command,
    pids: async () => (await readFile(list, 'utf8')).split('\n').filter(Boolean).map(Number),
  }
}

/** A killed process may stay as a zombie until init collects it; it runs no more. */
export function isAlive(pid: number): boolean {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
  return state !== '' && !state.startsWith('Z')
}
