import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ownRecord } from '../process.ts'
import { tryLock, waitLock } from './lock.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-lock-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('has one holder at a time, and leaves nothing behind', async () => {
  const path = join(folder, 'one')
  let inside = 0
  let most = 0
  const work = async (): Promise<void> => {
    const lock = await waitLock(path, 'work', () => undefined)
    most = Math.max(most, ++inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inside--
    await lock.release()
  }
  await Promise.all(Array.from({ length: 4 }, work))
  expect(most).toBe(1)
  expect(await readdir(folder)).toEqual([])
})

it('names a living holder', async () => {
  const path = join(folder, 'held')
  const first = await tryLock(path, 'the first')
  const second = await tryLock(path, 'the second')
  expect(second).toMatchObject({ holder: { name: 'the first', pid: process.pid } })
  if ('release' in first) await first.release()
})

it.each([
  ['a dead process', JSON.stringify({ ...ownRecord('dead'), startTime: 'another time' })],
  ['nobody readable', '{'],
])('is taken over from %s', async (_who, content) => {
  const path = join(folder, 'stale')
  await writeFile(path, content)
  const taken = await tryLock(path, 'heir')
  expect(taken).toHaveProperty('release')
  if ('release' in taken) await taken.release()
})
