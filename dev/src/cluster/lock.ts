import { readFile, rename, rm, writeFile, link } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning, ownRecord } from '../process.ts'
import type { ProcessRecord } from '../process.ts'

export interface Lock {
  release: () => Promise<void>
}

/**
 * Takes the lock file or tells who holds it. The holder is named by pid and start time, so that the lock of
 * a killed process is seen as stale and taken over.
 */
export async function tryLock(path: string, name: string): Promise<Lock | { holder: ProcessRecord }> {
  const mine = `${path}.${process.pid}.${crypto.randomUUID()}`
  await writeFile(mine, JSON.stringify(ownRecord(name)))
  try {
    for (;;) {
      try {
        // link() fails when the name exists and never shows a half-written file.
        await link(mine, path)
        return { release: () => rm(path, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = await readHolder(path)
      if (holder !== undefined && isRunning(holder)) return { holder }
      if (!(await takeAway(path, holder))) await sleep(20)
    }
  } finally {
    await rm(mine, { force: true })
  }
}

/** Waits for the lock; `waiting` is called every few seconds with the holder. */
export async function waitLock(
  path: string,
  name: string,
  waiting: (holder: ProcessRecord) => void,
): Promise<Lock> {
  for (let round = 0; ; round++) {
    const got = await tryLock(path, name)
    if ('release' in got) return got
    if (round % 20 === 0) waiting(got.holder)
    await sleep(250)
  }
}

/**
 * Removes a stale lock. Between reading and renaming somebody else may have taken it over: then what was
 * renamed is a live lock, and it is put back.
 */
async function takeAway(path: string, seen: ProcessRecord | undefined): Promise<boolean> {
  const aside = `${path}.stale.${crypto.randomUUID()}`
  try {
    await rename(path, aside)
  } catch {
    return false
  }
  const taken = await readHolder(aside)
  const stale = taken === undefined || taken.startTime === seen?.startTime || !isRunning(taken)
  if (!stale) await link(aside, path).catch(() => undefined)
  await rm(aside, { force: true })
  return stale
}

async function readHolder(path: string): Promise<ProcessRecord | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ProcessRecord
  } catch {
    return undefined
  }
}
