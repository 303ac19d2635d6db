import { access, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { needed } from './config.ts'

const PORTS = { events: 1_514, enrollment: 1_515, api: 55_000 }
const CONFIG = '/wazuh-config-mount/etc'
/** Mounted by the chart; without one of them the real manager would not come up either. */
const FILES = ['ossec.conf', 'authd.pass', 'sslmanager.cert', 'sslmanager.key'].map(
  (name) => `${CONFIG}/${name}`,
)
/** On the volume, by a part of it. */
const STATE = ['/var/ossec/queue', '/var/ossec/logs', '/var/lib/filebeat']
const PAUSE_MS = 10_000

/** Opens the manager's ports, and asks the indexer who it is, as the shipper of alerts does. */
export async function startManager(): Promise<void> {
  for (const path of FILES) await access(path)
  for (const folder of STATE) await writeFile(`${folder}/started`, '')
  const ca = await readFile(needed('SSL_CERTIFICATE_AUTHORITIES'))
  const auth = `${needed('INDEXER_USERNAME')}:${needed('INDEXER_PASSWORD')}`
  await listen(PORTS.events)
  await listen(PORTS.enrollment)
  // Its API counts as ready when the whole way to the indexer works: name, network, authority, user.
  for (;;) {
    const answer = await ask(new URL(needed('INDEXER_URL')), ca, auth)
    if (answer === '200') break
    console.log(`the indexer answers ${answer}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  await listen(PORTS.api)
  console.log('the manager is up')
}

const listen = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end())
    server.once('error', reject)
    server.listen(port, () => resolve())
  })

const ask = (url: URL, ca: Buffer, auth: string): Promise<string> =>
  new Promise((resolve) => {
    const call = request(url, { ca, auth, timeout: 5_000 }, (response) => {
      response.resume()
      resolve(String(response.statusCode))
    })
    call.once('timeout', () => call.destroy(new Error('nothing in time')))
    call.once('error', (error) => resolve(error.message))
    call.end()
  })
