import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { SLUG } from '@service/domain'
import { DOOR } from './indexer.ts'

const PORT = 9_200

/** One door for all tenants' indexers, each below its slug, as the development system has it. */
export async function startGateway(): Promise<void> {
  const server = createServer(pass)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(PORT, resolve)
  })
  console.log('the gateway is up')
}

function pass(incoming: IncomingMessage, response: ServerResponse): void {
  const [, slug = '', path = ''] = /^\/([^/?]*)(.*)$/.exec(incoming.url ?? '') ?? []
  if (slug === '') return void response.writeHead(200).end('{}')
  if (!SLUG.test(slug)) return void response.writeHead(404).end()
  const { method, headers } = incoming
  const target = { host: `wazuh-indexer.tenant-${slug}.svc`, port: DOOR, path: path || '/', method, headers }
  const call = request(target, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  call.once('error', (error) => {
    if (response.headersSent) return void response.destroy()
    response.writeHead(502, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { reason: error.message } }))
  })
  incoming.pipe(call)
}
