import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export type Running = {
  readonly child: ChildProcess
  readonly output: () => string
  readonly exit: Promise<number | null>
}
export function start(args: readonly string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { child, output: () => output, exit }
}
export async function until<T>(
  what: () => string,
  look: () => Promise<T | undefined | false | null>,
  { timeoutMs = 20_000, pauseMs = 50 } = {},
): Promise<T> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(pauseMs)) {
    const found = await look().catch(() => undefined)
    if (found !== undefined && found !== null && found !== false) return found
  }
  throw new Error(`not within ${timeoutMs / 1_000} seconds: ${what()}`)
}
