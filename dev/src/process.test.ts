import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRunning, ownRecord, startProcess, stopProcess } from './process.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-process-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const shell = (script: string) =>
  startProcess('test', '/bin/sh', ['-c', script], { logFile: join(folder, 'log'), env: { WHO: 'me' } })

it('runs with exactly the given environment and logs to the file', async () => {
  const { exited, record } = await shell('echo "$WHO-$HOME-"; exit 4')
  await expect(exited).resolves.toEqual({ code: 4, signal: null })
  expect(isRunning(record)).toBe(false)
  await expect(readFile(join(folder, 'log'), 'utf8')).resolves.toContain('me--')
})

it('says what cannot be started', async () => {
  const start = startProcess('thing', '/no/such/program', [], { logFile: join(folder, 'log') })
  await expect(start).rejects.toThrow(/cannot start thing \(\/no\/such\/program\)/)
})

it('ends by SIGTERM, or by SIGKILL after the grace', async () => {
  const willing = await shell('sleep 60')
  await expect(stopProcess(willing.record)).resolves.toBe('stopped')
  await expect(willing.exited).resolves.toMatchObject({ signal: 'SIGTERM' })
  const stubborn = await shell('trap "" TERM; echo up; while :; do sleep 0.1; done')
  await new Promise((resolve) => setTimeout(resolve, 200))
  await expect(stopProcess(stubborn.record, 200)).resolves.toBe('killed')
  await expect(stopProcess(stubborn.record)).resolves.toBe('absent')
})

it('never signals a process that only has the same pid', async () => {
  const { record } = await shell('sleep 60')
  await expect(stopProcess({ ...record, startTime: 'earlier' })).resolves.toBe('absent')
  expect(isRunning(record)).toBe(true)
  await stopProcess(record)
  expect(isRunning(ownRecord('self'))).toBe(true)
})
