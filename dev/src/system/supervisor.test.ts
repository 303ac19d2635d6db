import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isRunning, startProcess, stopProcess } from '../process.ts'
import { SupervisedUnit } from './supervisor.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

async function sleeper() {
  const directory = await mkdtemp(join(tmpdir(), 'supervisor-'))
  let starts = 0
  const unit = new SupervisedUnit(
    {
      name: 'sleeper',
      start: async () => {
        starts += 1
        const child = await startProcess('sleeper', 'sleep', ['60'], { logFile: join(directory, 'log') })
        return {
          records: [child.record],
          stop: async () => {
            await stopProcess(child.record)
          },
        }
      },
    },
    { log: () => undefined },
  )
  cleanups.push(
    () => rm(directory, { recursive: true }),
    () => unit.stop(),
  )
  return { unit, starts: () => starts }
}

describe('SupervisedUnit', () => {
  it('starts a killed process again', async () => {
    const { unit, starts } = await sleeper()
    await unit.start()
    const first = unit.records()[0]
    if (first === undefined) throw new Error('nothing runs')
    process.kill(first.pid, 'SIGKILL')
    await vi.waitFor(
      () => {
        expect(starts()).toBe(2)
        expect(unit.records().map((record) => record.pid)).not.toContain(first.pid)
        expect(unit.records().every(isRunning)).toBe(true)
      },
      { timeout: 5_000 },
    )
  })

  it('leaves a stopped one stopped', async () => {
    const { unit, starts } = await sleeper()
    await unit.start()
    const first = unit.records()[0]
    await unit.stop()
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(starts()).toBe(1)
    expect(first === undefined || isRunning(first)).toBe(false)
  })
})
