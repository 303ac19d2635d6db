import { readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'

type Upstream = { readonly url: URL; readonly ca: string }

export async function upstreamOf(kubeconfigPath: string): Promise<Upstream> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfigPath)
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('no cluster in the kubeconfig')
  const ca =
    cluster.caFile === undefined
      ? Buffer.from(cluster.caData ?? '', 'base64').toString('utf8')
      : await readFile(cluster.caFile, 'utf8')
  return { url: new URL(cluster.server), ca }
}

/** The same kubeconfig, with another server. */
export async function kubeconfigFor(source: string, server: string, target: string): Promise<void> {
  const config = new KubeConfig()
  config.loadFromFile(source)
  config.clusters = config.clusters.map((cluster) => ({
    ...cluster,
    server,
    skipTLSVerify: server.startsWith('http:'),
  }))
  await writeFile(target, config.exportConfig(), { mode: 0o600 })
}

const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port

/** Passes TLS through untouched and counts connections. */
export async function countingProxy(upstream: Upstream) {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    connections += 1
    const target = connect(Number(upstream.url.port), upstream.url.hostname)
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        target.destroy()
      })
    }
    client.pipe(target)
    target.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${portOf(server)}`,
    connections: () => connections,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

export type Seen = { readonly at: number; readonly url: string; readonly watch: boolean }
/** Answers by itself, or leaves the request to the real server by returning false. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean

/** Stands before the real API server, without TLS, and does to requests and watches what a test orders. */
export async function faultProxy(upstream: Upstream) {
  const seen: Seen[] = []
  let fault: Fault = () => false
  let onData: ((chunk: Buffer, response: ServerResponse) => Buffer | null) | undefined
  const watches = new Set<ServerResponse>()
  const server = createHttpServer((request, response) => {
    const url = request.url ?? '/'
    const watch = url.includes('watch=true')
    seen.push({ at: performance.now(), url, watch })
    response.on('error', () => undefined)
    if (fault(request, response)) return
    const forward = upstream.url.protocol === 'http:' ? httpRequest : httpsRequest
    const target = forward(
      new URL(url, upstream.url),
      { method: request.method, headers: request.headers, ca: upstream.ca },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        response.flushHeaders()
        if (watch) watches.add(response)
        answer.on('data', (chunk: Buffer) => {
          const passed = watch && onData !== undefined ? onData(chunk, response) : chunk
          if (passed !== null) response.write(passed)
        })
        answer.on('end', () => response.end())
        answer.on('error', () => response.destroy())
      },
    )
    target.on('error', () => response.destroy())
    response.on('close', () => {
      watches.delete(response)
      target.destroy()
    })
    request.pipe(target)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    seen,
    setFault: (next?: Fault) => {
      fault = next ?? (() => false)
    },
    /** What a watch's chunks become on their way; `null` swallows them. */
    setOnData: (next?: typeof onData) => {
      onData = next
    },
    watches,
    /** Ends watches politely. */
    endWatches: () => {
      for (const response of watches) response.end()
    },
    /** Cuts watches with RST. */
    resetWatches: () => {
      for (const response of watches) response.socket?.resetAndDestroy()
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
