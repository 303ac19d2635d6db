import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readKubeconfig } from '../cluster/client.ts'
import { writeKubeconfig } from '../cluster/credentials.ts'
import { describeRequest, errorEvent, statusBody, strikes } from './faults.ts'
import type { FaultRule, RequestKind, WireFault, WireRequest } from './faults.ts'
import { startLinks } from './links.ts'
import type { ConnectionMode, Link, Links } from './links.ts'
import { passWatch } from './watches.ts'
import type { Watch } from './watches.ts'

export type SeenRequest = {
  /** On the monotonic clock of this process. */
  readonly at: number
  readonly kind: RequestKind
  readonly resource: string | null
  readonly method: string
  readonly url: string
}

export type WireCounts = Readonly<Record<RequestKind, number>> & {
  /** TCP connections since the start, and those open now. */
  readonly accepted: number
  readonly open: number
}

export type WireProxy = {
  readonly url: string
  readonly requests: readonly SeenRequest[]
  /** When each TCP connection was accepted, on the same clock. */
  readonly acceptedAt: readonly number[]
  /** Switches a fault on; the answer switches it off. The rule that was switched on first wins. */
  fault(rule: FaultRule): () => void
  /** What new connections meet; with `blackhole` and `close` the open ones meet it, too. */
  setConnections(mode: ConnectionMode): void
  /** Open watches of one resource, or all. */
  openWatches(resource?: string): number
  /** Ends open watches as a server does that goes down politely. */
  endWatches(): void
  counts(): WireCounts
  /** The cluster's kubeconfig with the proxy as its server; `token` instead of the administrator's. */
  writeKubeconfig(path: string, token?: string): Promise<void>
  close(): Promise<void>
}

type Upstream = { readonly url: URL; readonly ca: string; readonly token: string; readonly agent: Agent }

/**
 * Stands before the API server of an embedded cluster and does to the wire what a rule orders. TLS ends here with the
 * server's own certificate, so clients verify as always.
 */
export async function startWireProxy({ kubeconfigPath }: { kubeconfigPath: string }): Promise<WireProxy> {
  const { server: address, ca, token } = await readKubeconfig(kubeconfigPath)
  if (ca === undefined || token === undefined) throw new Error('the kubeconfig is not of an embedded cluster')
  const pki = join(dirname(kubeconfigPath), 'pki')
  const [cert, key] = await Promise.all([
    readFile(join(pki, 'apiserver.crt')),
    readFile(join(pki, 'apiserver.key')),
  ])
  const upstream = { url: new URL(address), ca, token, agent: new Agent({ keepAlive: true, ca }) }
  let links: Links | undefined
  const wire = createWire(upstream, (port) => links?.behind(port))
  const server = createServer({ cert, key }, (request, response) => void wire.handle(request, response))
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay = await startLinks((server.address() as AddressInfo).port)
  links = relay
  const url = `https://127.0.0.1:${relay.port}`
  return {
    url,
    requests: wire.requests,
    acceptedAt: relay.acceptedAt,
    fault: wire.fault,
    setConnections: (mode) => {
      relay.setMode(mode)
      if (mode === 'blackhole') relay.each((link) => link.freeze())
      if (mode === 'close') relay.each((link) => link.reset())
    },
    openWatches: (resource) =>
      [...wire.watches].filter((each) => resource === undefined || each.request.resource === resource).length,
    endWatches: () => {
      for (const watch of wire.watches) watch.end()
    },
    counts: () => ({ ...countKinds(wire.requests), accepted: relay.acceptedAt.length, open: relay.open() }),
    writeKubeconfig: (path, other) =>
      writeKubeconfig(path, { server: url, ca, user: 'admin', token: other ?? token }),
    close: async () => {
      await relay.close()
      server.close()
      server.closeAllConnections()
      upstream.agent.destroy()
    },
  }
}

function countKinds(requests: readonly SeenRequest[]): Record<RequestKind, number> {
  const counts = { list: 0, watch: 0, other: 0 }
  for (const { kind } of requests) counts[kind] += 1
  return counts
}

/** The HTTP side: rules, open watches, and the way to the server. */
function createWire(upstream: Upstream, behind: (port: number) => Link | undefined) {
  const rules = new Set<FaultRule>()
  const watches = new Set<Watch>()
  const requests: SeenRequest[] = []
  const faultOf = (request: WireRequest): WireFault | undefined =>
    [...rules].find((rule) => strikes(rule, request))?.fault

  const forward = (request: IncomingMessage, response: ServerResponse, seen: WireRequest): void => {
    const target = httpsRequest(
      new URL(request.url ?? '/', upstream.url),
      { method: request.method, headers: request.headers, agent: upstream.agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        response.flushHeaders()
        answer.on('error', () => response.destroy())
        if (seen.kind !== 'watch' || answer.statusCode !== 200) {
          answer.pipe(response)
          return
        }
        const watch = passWatch(seen, answer, response, () => faultOf(seen))
        watches.add(watch)
        response.on('close', () => watches.delete(watch))
      },
    )
    target.on('error', () => response.destroy())
    response.on('close', () => target.destroy())
    request.pipe(target)
  }

  return {
    watches,
    requests,
    fault: (rule: FaultRule): (() => void) => {
      rules.add(rule)
      for (const watch of [...watches].filter((each) => strikes(rule, each.request))) {
        strikeOpen(rule.fault, watch, behind(watch.response.socket?.remotePort ?? 0))
      }
      return () => void rules.delete(rule)
    },
    handle: async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method = 'GET', url = '/', headers } = request
      const seen = describeRequest(method, url, headers.authorization)
      requests.push({ at: performance.now(), kind: seen.kind, resource: seen.resource, method, url })
      for (const side of [request, response]) side.on('error', () => response.destroy())
      const fault = faultOf(seen)
      if (fault?.type === 'delay') await sleep(fault.ms)
      if (response.destroyed) return
      const link = behind(request.socket.remotePort ?? 0)
      if (fault === undefined || !answers(fault, response, link)) forward(request, response, seen)
    },
  }
}

function strikeOpen(fault: WireFault, watch: Watch, link: Link | undefined): void {
  if (fault.type === 'reset') link?.reset()
  else if (fault.type === 'blackhole') link?.freeze()
  else if (fault.type === 'close' && fault.afterLines === 0) watch.end()
  else if (fault.type === 'error-event') watch.fail(fault.code, fault.reason)
}

/** True when the fault stands in the place of the server's answer. */
function answers(fault: WireFault, response: ServerResponse, link: Link | undefined): boolean {
  const answer = (code: number, body: string, headers: Record<string, string> = {}): void => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body)
  }
  if (fault.type === 'reset') {
    link?.reset()
  } else if (fault.type === 'blackhole') {
    link?.freeze()
  } else if (fault.type === 'status') {
    const { code, reason, retryAfterSeconds: seconds } = fault
    answer(code, statusBody(code, reason), seconds === undefined ? {} : { 'retry-after': String(seconds) })
  } else if (fault.type === 'refuse-token') {
    answer(401, statusBody(401, 'Unauthorized'))
  } else if (fault.type === 'error-event') {
    answer(200, errorEvent(fault.code, fault.reason))
  } else if (fault.type === 'close' && fault.afterLines === 0) {
    answer(200, '')
  } else {
    return false
  }
  return true
}
