import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'

const run = promisify(execFile)
const MAX_OUTPUT = 64 * 1_024 * 1_024

/** There is no Docker engine to work with: nothing is wrong with the tree. */
export class NoDocker extends Error {
  override readonly name = 'NoDocker'
}
/** What a program ends with that finds no Docker engine. */
export const NO_DOCKER_EXIT = 3

export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('docker', [...args], { maxBuffer: MAX_OUTPUT })
  return stdout.trim()
}

/** What a script says that the Node.js of an image runs, with nothing around it. */
export function runInImage(image: string, script: string, ...args: readonly string[]): Promise<string> {
  const node = ['--entrypoint=node', '--env=PATH=/usr/local/bin:/usr/bin:/nodejs/bin']
  return docker('run', '--rm', '--network=none', ...node, image, '--eval', script, ...args)
}

/** Rejects with NoDocker, whose message says what to do. */
export async function requireDocker(): Promise<void> {
  const failure = await docker('info', '--format', '{{.ServerVersion}}').then(
    () => undefined,
    (error: Error) => error.message.split('\n').find((line) => !line.startsWith('Command failed')) ?? '',
  )
  if (failure === undefined) return
  throw new NoDocker(
    `This needs a Docker engine, and none answers: install Docker or start it, so that "docker info" succeeds. (${failure.trim()})`,
  )
}

export type ImageState = {
  readonly id: string
  readonly bytes: number
  readonly labels: Readonly<Record<string, string>>
}

/** `undefined` when the engine does not hold it. */
export async function inspectImage(reference: string): Promise<ImageState | undefined> {
  const text = await docker('image', 'inspect', reference).catch((error: Error) => {
    if (/no such image/i.test(error.message)) return undefined
    throw error
  })
  if (text === undefined) return undefined
  const [found] = JSON.parse(text) as {
    Id: string
    Size: number
    Config: { Labels: Record<string, string> | null }
  }[]
  if (found === undefined) return undefined
  return { id: found.Id, bytes: found.Size, labels: found.Config.Labels ?? {} }
}

/** Bytes of an image as a registry would hold it, nearly: its layers behind gzip. */
export async function compressedBytes(reference: string): Promise<number> {
  const child = spawn('docker', ['save', reference], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  let bytes = 0
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done()
    },
  })
  await pipeline(child.stdout, createGzip(), count)
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`docker save ${reference} ended with ${code}`)
  return bytes
}
