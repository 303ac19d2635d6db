import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { waitLock } from './cluster/lock.ts'

export type Progress = (line: string) => void

/**
 * Fills a folder of the cache once, whoever wants it at the same time: `make` gets a temporary folder, which is put into
 * place when it is complete. What a killed one has left is removed by the next.
 */
export async function ensureCached(
  directory: string,
  options: {
    readonly name: string
    readonly isThere: () => Promise<boolean>
    readonly make: (temporary: string) => Promise<void>
    readonly progress: Progress
  },
): Promise<void> {
  const { name, isThere, make, progress } = options
  if (await isThere()) return
  await mkdir(dirname(directory), { recursive: true })
  // The lock only saves work: two at once would both be right, because the result is renamed into place.
  const lock = await waitLock(`${directory}.lock`, name, (holder) =>
    progress(`waiting for ${holder.name} by process ${holder.pid}`),
  )
  try {
    if (await isThere()) return
    await removeAbandoned(directory)
    const temporary = await mkdtemp(`${directory}.build-`)
    try {
      await make(temporary)
      await rm(directory, { recursive: true, force: true })
      await rename(temporary, directory)
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  } finally {
    await lock.release()
  }
}

/** Nobody else makes the same while we hold the lock. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(dirname(directory)))
    if (name.startsWith(`${basename(directory)}.build-`))
      await rm(`${dirname(directory)}/${name}`, { recursive: true, force: true })
}
