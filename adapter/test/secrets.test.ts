import { execFile, spawnSync } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateAlerts } from '@service/dev'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWorld, idsOf, until } from './harness.ts'
import type { World } from './harness.ts'

let world: World
afterEach(() => world.close())

const run = promisify(execFile)
const alerts = (count: number) => generateAlerts({ count, seed: 3, until: new Date(), minutes: 60 })
const stored = (count: number) => () => world.api.state.events.size >= count

/** As Kubernetes does it: the new content is there as a whole, under the same name. */
async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content)
  await rename(`${path}.new`, path)
}

describe('the token', () => {
  it('is replaced without a restart, and until then the adapter is not healthy', async () => {
    world = await createWorld()
    const adapter = await world.start()
    await until('a healthy adapter', () => world.api.state.beats.at(-1)?.health === 'ok')
    world.api.state.tokens = new Set(['token-2'])
    await world.load(alerts(20))
    await until('the refusal', () => adapter.status.api === 'unauthorized')
    expect(world.api.state.events.size).toBe(0)
    await replace(world.tokenFile, 'token-2')
    await until('all alerts', stored(20))
    await until('a healthy adapter again', () => adapter.status.api === null)
  })

  it('is read anew also when it was replaced in time', async () => {
    world = await createWorld()
    await world.start()
    await until('a heartbeat', () => world.api.state.beats.length > 1)
    world.api.state.tokens.add('token-2')
    await replace(world.tokenFile, 'token-2')
    const seen = world.api.state.beats.length
    await until('a few more heartbeats', () => world.api.state.beats.length > seen + 2)
    world.api.state.tokens.delete('token-1')
    const then = world.api.state.beats.length
    await until('more heartbeats', () => world.api.state.beats.length > then + 2)
    expect(world.api.state.unauthorized).toBe(0)
  })

  it('may appear later than the adapter, and a broken one is no token', async () => {
    world = await createWorld()
    const path = join(world.folder, 'later')
    const adapter = await world.start({ ADAPTER_TOKEN_FILE: path })
    await until('the adapter to notice', () => adapter.status.api === 'token_unreadable')
    await writeFile(path, 'to\nken')
    await replace(path, 'token-1')
    await until('a heartbeat', () => world.api.state.beats.length > 0)
  })
})

describe('credentials of the indexer', () => {
  it('come from files, and new ones are taken without a restart', async () => {
    const auth = { username: 'reader', password: 'right' }
    world = await createWorld({}, { auth })
    const [user, password] = [join(world.folder, 'user'), join(world.folder, 'password')]
    await writeFile(user, 'reader\n')
    await writeFile(password, 'wrong\n')
    const adapter = await world.start({ INDEXER_USERNAME_FILE: user, INDEXER_PASSWORD_FILE: password })
    await until('the adapter to notice', () => adapter.status.source === 'unauthorized')
    await until('an honest heartbeat', () => world.api.state.beats.at(-1)?.health === 'indexer_unauthorized')
    await replace(password, 'right\n')
    await until('a healthy heartbeat', () => world.api.state.beats.at(-1)?.health === 'ok')
  })
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) process.stdout.write('skipped: the tests of TLS need the openssl command\n')

describe.skipIf(!hasOpenssl)('TLS with a private CA', () => {
  let folder: string
  const at = (name: string) => join(folder, name)
  const pem = (name: string) => readFile(at(name), 'utf8')

  async function authority(name: string): Promise<void> {
    await run('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.crt`),
    ])
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'adapter-tls-'))
    await authority('ours')
    await authority('other')
    await writeFile(at('names'), 'subjectAltName=IP:127.0.0.1\n')
    await run('openssl', [
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=server',
      '-keyout',
      at('server.key'),
      '-out',
      at('server.csr'),
    ])
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      at('server.csr'),
      '-CA',
      at('ours.crt'),
      '-CAkey',
      at('ours.key'),
      '-CAcreateserial',
      '-days',
      '2',
      '-extfile',
      at('names'),
      '-out',
      at('server.crt'),
    ])
  })
  afterAll(() => rm(folder, { recursive: true }))

  const secureWorld = async () => {
    const tls = { key: await pem('server.key'), cert: await pem('server.crt') }
    world = await createWorld({ tls })
    return tls
  }

  it('reads and sends where both ends are signed by it', async () => {
    const tls = { key: await pem('server.key'), cert: await pem('server.crt') }
    world = await createWorld({ tls }, { tls })
    const ca = at('ours.crt')
    const adapter = await world.start({ API_CA_FILE: ca, INDEXER_CA_FILE: ca })
    await until('a healthy adapter', () => world.api.state.beats.at(-1)?.health === 'ok')
    expect(adapter.status.source).toBeNull()
  })

  it('sends nothing to an API that another CA has signed, until the right one is there', async () => {
    await secureWorld()
    const wanted = alerts(10)
    await world.load(wanted)
    const ca = at('api-ca.crt')
    await writeFile(ca, await pem('other.crt'))
    const adapter = await world.start({ API_CA_FILE: ca })
    await until('the adapter to notice', () => adapter.status.api === 'unreachable')
    expect(world.api.state.beats).toEqual([])
    await replace(ca, await pem('ours.crt'))
    await until('all alerts', stored(10))
    expect([...world.api.state.events.keys()].toSorted()).toEqual(idsOf(wanted))
  })

  it('does not believe the system about a private CA', async () => {
    await secureWorld()
    const adapter = await world.start()
    await until('the adapter to notice', () => adapter.status.api === 'unreachable')
    expect(world.api.state.beats).toEqual([])
  })
})
