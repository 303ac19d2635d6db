import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:tls'
import { CA_KEY_MATERIAL } from '@service/domain'
import { verify } from '@node-rs/bcrypt'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { completeWazuhMaterial, type Material } from './wazuh.ts'

const NOW = new Date()
const TENANT = { id: '0198b5a0-0000-7000-8000-000000000001', namespace: 'tenant-acme' }
const daysLater = (days: number) => new Date(NOW.getTime() + days * 86_400_000)
const complete = (present: Material, now = NOW) => completeWazuhMaterial(present, TENANT, now)

let material: Material
beforeAll(async () => {
  ;({ material } = await complete({}))
})
const text = (key: string): string => {
  const found = material[key]
  if (found === undefined) throw new Error(`no ${key}`)
  return found
}

describe('the PKI of a tenant', () => {
  test.each([
    ['wazuh-indexer-tls', 'indexer', 'wazuh-indexer'],
    ['wazuh-manager-tls', 'manager', 'wazuh-manager'],
    ['wazuh-dashboard-tls', 'dashboard', 'wazuh-dashboard'],
  ])('has a leaf %s for its service', (secret, commonName, service) => {
    const leaf = new X509Certificate(text(`${secret}.tls.crt`))
    const authority = new X509Certificate(text('wazuh-ca.ca.crt'))
    expect(leaf.verify(authority.publicKey)).toBe(true)
    expect(leaf.checkIssued(authority)).toBe(true)
    expect([authority.ca, leaf.ca]).toEqual([true, false])
    expect(leaf.subject).toBe(`CN=${commonName}`)
    for (const host of [service, `${service}.tenant-acme.svc`, 'localhost'])
      expect(leaf.checkHost(host)).toBe(host)
    expect(leaf.checkHost(`${service}.tenant-other.svc`)).toBeUndefined()
    expect(text(`${secret}.ca.crt`)).toBe(text('wazuh-ca.ca.crt'))
    expect(text(`${secret}.tls.key`)).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  })

  test('carries a mutual TLS connection, and no other authority does', async () => {
    const side = (secret: string) => ({
      cert: text(`${secret}.tls.crt`),
      key: text(`${secret}.tls.key`),
      ca: text(`${secret}.ca.crt`),
    })
    const server = createServer({ ...side('wazuh-indexer-tls'), requestCert: true, rejectUnauthorized: true })
    server.on('secureConnection', (socket) => socket.end('hello'))
    server.on('tlsClientError', () => undefined)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const dial = async (options: object): Promise<string> => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'wazuh-indexer', ...options })
      const chunks: string[] = []
      socket.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
      await once(socket, 'close')
      return chunks.join('')
    }
    try {
      expect(await dial(side('wazuh-manager-tls'))).toBe('hello')
      const { material: other } = await complete({})
      await expect(dial({ ...side('wazuh-manager-tls'), ca: other['wazuh-ca.ca.crt'] })).rejects.toThrow(
        /certificate/,
      )
    } finally {
      server.close()
    }
  })
})

describe("the indexer's users", () => {
  test('are three, none of them a demo user, with the hashes of their passwords', async () => {
    const users = parse(text('wazuh-indexer-users.internal_users.yml')) as Record<string, { hash: string }>
    expect(Object.keys(users)).toEqual(['_meta', 'admin', 'kibanaserver', 'alert-reader'])
    for (const [user, password] of [
      ['admin', 'wazuh-credentials.indexer_password'],
      ['kibanaserver', 'wazuh-credentials.dashboard_password'],
      ['alert-reader', 'adapter-indexer-credentials.password'],
    ] as const) {
      expect(users[user]?.hash).toMatch(/^\$2y\$06\$/)
      expect(await verify(text(password), users[user]?.hash ?? '')).toBe(true)
    }
  })
})

describe('completing material', () => {
  test('changes nothing of what is complete', async () => {
    const again = await complete(material)
    expect(again.added).toEqual([])
    expect(again.material).toEqual(material)
  })

  test('gives an older tenant what it lacks and keeps its credentials', async () => {
    const old = Object.fromEntries(
      Object.entries(material).filter(([key]) => /^wazuh-(credentials|authd)/.test(key)),
    )
    const others = { 'adapter-token.token': 'x', 'tenant-llm-key.api_key': '' }
    const { material: now, added } = await complete({ ...old, ...others })
    expect(now).toMatchObject(others)
    expect(now).toMatchObject(old)
    expect(added).toHaveLength(Object.keys(material).length - Object.keys(old).length)
    const users = parse(now['wazuh-indexer-users.internal_users.yml'] ?? '') as Record<
      string,
      { hash: string }
    >
    expect(await verify(text('wazuh-credentials.indexer_password'), users['admin']?.hash ?? '')).toBe(true)
  })

  test('renews a leaf that ends soon, with the authority as it is', async () => {
    expect((await complete(material, daysLater(600))).added).toEqual([])
    const { material: renewed, added } = await complete(material, daysLater(700))
    expect(added.toSorted()).toEqual(
      ['admin', 'dashboard', 'indexer', 'manager'].flatMap((part) => [
        `wazuh-${part}-tls.tls.crt`,
        `wazuh-${part}-tls.tls.key`,
      ]),
    )
    expect(renewed['wazuh-ca.ca.crt']).toBe(material['wazuh-ca.ca.crt'])
  })

  test.each(['wazuh-ca.ca.crt', CA_KEY_MATERIAL])('without %s makes the whole PKI anew', async (lost) => {
    const { added } = await complete({ ...material, [lost]: '' })
    expect(added).toEqual(
      expect.arrayContaining(['wazuh-ca.ca.crt', CA_KEY_MATERIAL, 'wazuh-indexer-tls.tls.crt']),
    )
  })

  test('makes a damaged leaf anew', async () => {
    const { added } = await complete({ ...material, 'wazuh-indexer-tls.tls.crt': 'nonsense' })
    expect(added.toSorted()).toEqual(['wazuh-indexer-tls.tls.crt', 'wazuh-indexer-tls.tls.key'])
  })
})
