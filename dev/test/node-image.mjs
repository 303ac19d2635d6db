// Stands for a container image in the tests of the local node.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

let ready = false
const answers = {
  '/ready': () => (ready ? [200, ''] : [503, '']),
  '/make-ready': () => [200, String((ready = true))],
  '/make-unready': () => [200, String((ready = false))],
  '/live': () => [200, ''],
  '/env': () => [200, JSON.stringify({ env: process.env, args: process.argv.slice(2) })],
  '/crash': () => setImmediate(() => process.exit(3)) && [200, ''],
}
const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://pod')
  const file = url.searchParams.get('file')
  const [status, body] = file === null ? answers[url.pathname]() : [200, readFileSync(file, 'utf8')]
  response.writeHead(status, { connection: 'close' }).end(body)
})
server.listen(8080, process.env.BIND_ADDRESS, () => console.log('listening'))
process.on('SIGTERM', () => {
  console.log('got SIGTERM')
  process.exit(0)
})
