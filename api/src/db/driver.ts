import { Duplex } from 'node:stream'
import postgres from 'postgres'

/**
 * The driver as published lets a transaction whose backend died run its next statement inside another transaction on
 * the same connection, which may be another tenant's. `patches/` repairs that; these checks refuse to work without it.
 * They look at what the code says and does, not at files, so that they hold in a bundle, too.
 */
export function assertPatchedDriver(sql: postgres.Sql): void {
  if (!/\.shift\(\)\.reject\(/.test(sql.begin.toString())) throw new UnpatchedDriverError('begin')
}

export class UnpatchedDriverError extends Error {
  override readonly name = 'UnpatchedDriverError'
  constructor(part: string) {
    super(
      `The database driver lacks the project's patch (${part}): install with npm, so that patch-package applies patches/, ` +
        'and build bundles from the patched tree.',
    )
  }
}

/** Plays the two faults against a made-up server in memory: about 10 ms, no network. */
export async function probeDriver(connect: typeof postgres = postgres): Promise<void> {
  if (await strayStatementWasSent(connect)) throw new UnpatchedDriverError('lost transactions')
  if (await unansweredQueryHangs(connect)) throw new UnpatchedDriverError('closed connections')
}

const DEADLINE_MS = 2_000
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function settled(work: PromiseLike<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, false)
  })
  const ended = Promise.resolve(work).then(
    () => true,
    () => true,
  )
  return Promise.race([ended, deadline]).finally(() => clearTimeout(timer))
}

/** A transaction loses its server; another begins on the same connection; then the first one speaks again. */
async function strayStatementWasSent(connect: typeof postgres): Promise<boolean> {
  const servers: FakeServer[] = []
  const sql = connect(probeOptions(servers) as postgres.Options<{}>)
  try {
    let speak = () => {}
    const silence = new Promise<void>((resolve) => (speak = resolve))
    const lost = sql.begin(async (tx) => {
      servers[0]?.destroy()
      await silence
      await tx.unsafe('select stray')
    })
    await settled(lost)
    const other = sql.begin(async (tx) => {
      speak()
      await pause(5)
      await tx.unsafe('select other')
    })
    if (!(await settled(other))) return true
    return servers.some((server) => server.received.includes('select stray'))
  } finally {
    await close(sql, servers)
  }
}

/** A server that takes a connection and closes it at once: the query has to be told so. */
async function unansweredQueryHangs(connect: typeof postgres): Promise<boolean> {
  let connects = 0
  const servers: FakeServer[] = []
  const options = probeOptions(servers)
  const socket = () => {
    connects += 1
    const server = options.socket()
    if (connects < 50) setImmediate(() => server.destroy())
    return server
  }
  const sql = connect({ ...options, socket } as postgres.Options<{}>)
  try {
    await settled(sql.unsafe('select answer'))
    return connects > 1
  } finally {
    await close(sql, servers)
  }
}

const probeOptions = (servers: FakeServer[]) => ({
  host: 'probe.invalid',
  port: 1,
  user: 'probe',
  database: 'probe',
  max: 1,
  fetch_types: false,
  backoff: () => 0,
  socket: () => {
    const server = new FakeServer()
    servers.push(server)
    return server
  },
})

async function close(sql: postgres.Sql, servers: readonly FakeServer[]): Promise<void> {
  await sql.end({ timeout: 0 })
  for (const server of servers) server.destroy()
}

/** Just enough of a PostgreSQL: it says yes to everything and remembers what it was asked. */
class FakeServer extends Duplex {
  readonly received: string[] = []
  readonly readyState = 'open'
  #started = false
  #pending = Buffer.alloc(0)
  #parsed = ''

  override _read(): void {}

  override _final(done: () => void): void {
    this.push(null)
    done()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#pending = Buffer.concat([this.#pending, chunk])
    for (;;) {
      const skip = this.#started ? 1 : 0
      if (this.#pending.length < skip + 4) break
      const length = skip + this.#pending.readUInt32BE(skip)
      if (this.#pending.length < length) break
      this.#answer(this.#pending.subarray(0, length))
      this.#pending = this.#pending.subarray(length)
    }
    done()
  }

  #answer(message: Buffer): void {
    if (!this.#started) {
      this.#started = true
      this.#reply(frame('R', Buffer.alloc(4)), frame('Z', Buffer.from('I')))
      return
    }
    const type = String.fromCharCode(message[0] ?? 0)
    if (type === 'Q') this.#finish(message.toString('utf8', 5, message.length - 1))
    if (type === 'P') this.#parsed = message.toString('utf8', message.indexOf(0, 5) + 1).split('\0')[0] ?? ''
    if (type === 'S') {
      this.#reply(frame('1'), frame('t', Buffer.alloc(2)), frame('n'), frame('2'))
      this.#finish(this.#parsed)
    }
  }

  #finish(statement: string): void {
    this.received.push(statement)
    const state = /^(commit|rollback)/.test(statement) ? 'I' : 'T'
    this.#reply(frame('C', Buffer.from('OK\0')), frame('Z', Buffer.from(state)))
  }

  /** Later, as a network would: the driver does not expect an answer while it is still writing. */
  #reply(...frames: readonly Buffer[]): void {
    setImmediate(() => {
      if (!this.destroyed) this.push(Buffer.concat(frames))
    })
  }
}

function frame(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
