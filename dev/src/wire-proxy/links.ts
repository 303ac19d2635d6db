import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** What new connections meet: the server, silence, or an end at once. */
export type ConnectionMode = 'pass' | 'blackhole' | 'close'

/** One client's TCP connection. */
export type Link = {
  /** No byte passes any more, in either direction. Final. */
  freeze(): void
  /** Ends it by RST. */
  reset(): void
}

export type Links = {
  readonly port: number
  /** The connection behind a local port that the target sees as its peer's. */
  behind(port: number): Link | undefined
  setMode(mode: ConnectionMode): void
  /** Strikes every open connection. */
  each(strike: (link: Link) => void): void
  /** When each connection was accepted, on the monotonic clock. */
  readonly acceptedAt: readonly number[]
  /** Relayed now. */
  open(): number
  close(): Promise<void>
}

/** Relays TCP on 127.0.0.1 to a local port, where TLS ends: here connections can be held, cut and counted. */
export async function startLinks(targetPort: number): Promise<Links> {
  const links = new Map<number, Link>()
  const sockets = new Set<Socket>()
  let mode: ConnectionMode = 'pass'
  const acceptedAt: number[] = []
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const relay = (client: Socket): void => {
    const target = connect(targetPort, '127.0.0.1')
    track(target)
    let key: number | undefined
    target.once('connect', () => {
      key = target.localPort
      if (key !== undefined) links.set(key, linkOf(client, target))
    })
    const end = (): void => {
      if (key !== undefined) links.delete(key)
      client.destroy()
      target.destroy()
    }
    client.on('close', end)
    target.on('close', end)
    client.pipe(target)
    target.pipe(client)
  }
  // A held connection is never read, hence paused from its first moment.
  const server = createServer({ pauseOnConnect: true }, (client) => {
    acceptedAt.push(performance.now())
    track(client)
    if (mode === 'close') client.destroy()
    if (mode === 'pass') relay(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    behind: (port) => links.get(port),
    setMode: (next) => {
      mode = next
    },
    each: (strike) => {
      for (const link of links.values()) strike(link)
    },
    acceptedAt,
    open: () => links.size,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function linkOf(client: Socket, target: Socket): Link {
  return {
    freeze: () => {
      for (const [from, to] of [
        [client, target],
        [target, client],
      ] as const) {
        from.unpipe(to)
        from.pause()
      }
    },
    reset: () => client.resetAndDestroy(),
  }
}
