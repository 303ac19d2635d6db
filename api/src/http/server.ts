import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener, RequestError } from '@hono/node-server'
import { ServiceError } from '@service/domain'
import type { Hono } from 'hono'
import type { Log } from '../log.ts'
import { setSecurityHeaders } from './middleware/security-headers.ts'
import { problemResponse } from './problem.ts'
import type { HttpEnv } from './types.ts'

/** Times in milliseconds: a slow sender is cut off, an idle connection is closed. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000 } as const
const MAX_HEADER_BYTES = 16 * 1024
const SWEEP_MS = 50

export type HttpServer = {
  readonly address: { readonly host: string; readonly port: number }
  /** Takes no new requests, lets the running ones end, and cuts off what is left after `graceMs`. */
  stop(graceMs: number): Promise<void>
}
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Binds the address or fails with a message that names it. */
export async function startHttpServer(
  listener: Listener,
  listen: { readonly host: string; readonly port: number },
): Promise<HttpServer> {
  const server = createServer({ ...TIMEOUTS, maxHeaderSize: MAX_HEADER_BYTES }, listener)
  server.on('clientError', answerUnreadable)
  await bound(server, listen)
  const { address, port } = server.address() as AddressInfo
  return { address: { host: address, port }, stop: (graceMs) => stopServer(server, graceMs) }
}

/** The app behind a socket; what cannot even become a request is answered as a problem, too. */
export function appListener(app: Hono<HttpEnv>, options: { cookieSecure: boolean; log: Log }): Listener {
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      options.log.warn({ err: error }, 'a request could not be answered by the pipeline')
      const expected = error instanceof RequestError ? new ServiceError('malformed_request') : error
      return outsidePipeline(expected, options.cookieSecure)
    },
  })
  return (request, response) => {
    listener(request, response).catch((error: unknown) => {
      options.log.error({ err: error }, 'an answer could not be sent')
      response.destroy()
    })
  }
}

function outsidePipeline(error: unknown, secure: boolean): Response {
  const response = problemResponse(error, { instance: '', requestId: '' })
  setSecurityHeaders(response.headers, secure)
  return response
}

/** Node found no HTTP on the wire, or the sender was too slow. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const body = '{"type":"urn:service:problem:malformed_request","status":400,"code":"malformed_request"}'
  const head = ['HTTP/1.1 400 Bad Request', 'content-type: application/problem+json', 'connection: close']
  socket.end(`${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
}

function bound(server: Server, listen: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) =>
      reject(new Error(`cannot listen on ${listen.host}:${listen.port}: ${error.message}`, { cause: error }))
    server.once('error', failed)
    server.listen(listen.port, listen.host, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

/** A connection whose last answer is sent would stay open for the next request: it is closed as it becomes idle. */
function stopServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(cut)
      resolve()
    })
  })
}
