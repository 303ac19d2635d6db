import { Socket } from 'node:net'

/** Where the driver wants to go, as it tells its option `socket`. */
type Target = {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path: string | false
}

const LOOK_MS = 500

/**
 * Sockets for the driver that do not outlive silence: one on which nothing has come for `silenceMs` is destroyed, and
 * the driver fails what waits on it and connects anew. For a path that has gone silent without an RST, where TCP alone
 * gives up after a quarter of an hour. It has to be longer than any answer may take; idle connections end by it, too,
 * as nobody can tell which of them are still good.
 */
export function silenceEndingSockets(silenceMs: number): (target: Target) => Socket {
  let attempts = 0
  return ({ host, port, path }) => {
    const at = attempts % host.length
    attempts += 1
    const where = { host: host[at] ?? '', port: port[at] ?? 0 }
    const socket = new Socket()
    // After the driver has begun to listen: an address can be refused at once.
    queueMicrotask(() => (path === false ? socket.connect(where) : socket.connect({ path })))
    destroyWhenSilent(socket, silenceMs)
    // The driver's own sockets carry their target, against which TLS checks the certificate.
    return Object.assign(socket, where)
  }
}

/**
 * Looks at the counters, because listeners do not survive the change to TLS. Counts looks instead of hours: a process
 * that stood still has heard nothing meanwhile, and that is not the server's fault.
 */
function destroyWhenSilent(socket: Socket, silenceMs: number): void {
  let read = 0
  let written = 0
  let asked = false
  let silentLooks = 0
  const timer = setInterval(() => {
    const heard = socket.bytesRead !== read
    // Only the first question after an answer begins a new wait: those behind it must not lengthen it.
    const asks = !heard && !asked && socket.bytesWritten !== written
    asked = !heard && (asked || asks)
    silentLooks = heard || asks ? 0 : silentLooks + 1
    read = socket.bytesRead
    written = socket.bytesWritten
    if (silentLooks * LOOK_MS >= silenceMs) socket.destroy()
    if (socket.destroyed) clearInterval(timer)
  }, LOOK_MS)
  timer.unref()
}
