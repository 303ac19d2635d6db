import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UsageError } from './arguments.ts'

export type Terminal = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  /** Where questions are asked: standard error, so that standard output is data alone. */
  readonly output: { write(text: string): unknown }
}

/** Ctrl-C, or the end of input before an answer. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
}

/** What the environment gives, else what a person types twice unseen, else the first line of standard input. */
export async function readPassword(given: string | null, terminal: Terminal): Promise<string> {
  if (given !== null) return given
  if (terminal.input.isTTY !== true) return firstLine(terminal.input)
  const [first, second] = await ask(terminal, ['New password: ', 'Again: '])
  if (first !== second) throw new Mismatch('the two passwords are not the same')
  return first
}

async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  const [line = ''] = Buffer.concat(chunks).toString('utf8').split(/\r?\n/)
  if (line === '')
    throw new UsageError('there is no password: set SERVICE_PASSWORD, pipe it in, or use a terminal')
  return line
}

/** readline echoes what is typed to its output; here that goes nowhere. */
async function ask(terminal: Terminal, questions: readonly [string, string]): Promise<[string, string]> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: terminal.input, output: nowhere, terminal: true, historySize: 0 })
  lines.once('SIGINT', () => lines.close())
  const typed = lines[Symbol.asyncIterator]()
  const answer = async (question: string): Promise<string> => {
    terminal.output.write(question)
    const line = await typed.next()
    terminal.output.write('\n')
    if (line.done === true) throw new Interrupted('nothing was changed')
    return line.value
  }
  try {
    return [await answer(questions[0]), await answer(questions[1])]
  } finally {
    lines.close()
  }
}
