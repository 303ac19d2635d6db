import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { parseCommand, UsageError } from './arguments.ts'
import { Interrupted, Mismatch, readPassword } from './read-password.ts'

describe('the arguments', () => {
  it.each<[string[], object]>([
    [['--help'], { kind: 'help' }],
    [['set-password', '-h'], { kind: 'help' }],
    [['--version'], { kind: 'version' }],
    [['set-password', 'a@b.c'], { kind: 'set-password', email: 'a@b.c', dryRun: false, output: 'text' }],
    [['set-password', '--dry-run', 'a@b.c', '-o', 'json'], { dryRun: true, output: 'json' }],
  ])('%j', (args, command) => expect(parseCommand(args)).toMatchObject(command))

  it.each([
    [[]],
    [['set-password']],
    [['set-password', '']],
    [['set-passwort', 'a@b.c']],
    [['set-password', 'a@b.c', 'my secret password']],
    [['set-password', 'a@b.c', '--password', 'x']],
    [['set-password', 'a@b.c', '--output', 'yaml']],
    [['set-password', 'a@b.c', '--dry-run=yes']],
  ])('%j is wrong usage', (args) => expect(() => parseCommand(args)).toThrow(UsageError))
})

describe('the password', () => {
  /** A terminal on which somebody types. */
  const terminal = (typed: readonly string[]) => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    let shown = ''
    const output = {
      write: (text: string) => {
        shown += text
        const next = text.endsWith(': ') ? typed[asked++] : undefined
        if (next !== undefined) input.write(next)
      },
    }
    let asked = 0
    return { input, output, shown: () => shown }
  }

  it('comes from the environment before anybody is asked', async () => {
    const at = terminal([])
    expect(await readPassword('from the environment', at)).toBe('from the environment')
    expect(at.shown()).toBe('')
  })

  it('is typed twice, unseen, with corrections', async () => {
    const at = terminal(['correct horsf\x7fe\r', 'correct horse\r'])
    expect(await readPassword(null, at)).toBe('correct horse')
    expect(at.shown()).toBe('New password: \nAgain: \n')
  })

  it('has to be the same twice', async () => {
    await expect(readPassword(null, terminal(['one\r', 'two\r']))).rejects.toThrow(Mismatch)
  })

  it.each([['\x03'], ['\x04']])('is not needed after %j', async (key) => {
    await expect(readPassword(null, terminal([key]))).rejects.toThrow(Interrupted)
  })

  it('is the first line of what is piped in', async () => {
    const piped = (text: string) => ({
      input: new PassThrough().end(text),
      output: { write: () => undefined },
    })
    expect(await readPassword(null, piped('correct horse\r\nmore'))).toBe('correct horse')
    expect(await readPassword(null, piped('correct horse'))).toBe('correct horse')
    await expect(readPassword(null, piped(''))).rejects.toThrow(UsageError)
  })
})
