import { readFile } from 'node:fs/promises'
import { verify } from '@node-rs/bcrypt'
import { parse } from 'yaml'
import { startIndexer } from '../../indexer/index.ts'

const CONFIG = '/usr/share/wazuh-indexer/config'
const DATA = '/var/lib/wazuh-indexer'
/** Answered without a user, as by the real one. */
const HEALTH = '/_plugins/_security/health'
/** For the gateway alone: no Service of the chart leads there. */
export const DOOR = 9_201

type Users = Readonly<Record<string, { readonly hash?: string }>>

/** The development indexer with the tenant's certificate and users, at the root of its address. */
export async function startTenantIndexer(): Promise<void> {
  const file = (name: string) => readFile(`${CONFIG}/${name}`, 'utf8')
  await file('opensearch.yml')
  const { _meta: _, ...users } = parse(await file('opensearch-security/internal_users.yml')) as Users
  const tls = { key: await file('certs/tls.key'), cert: await file('certs/tls.crt') }
  const shared = { host: '0.0.0.0', dataDir: DATA, only: 'tenant' } as const
  await startIndexer({
    ...shared,
    port: 9_200,
    tls,
    open: [HEALTH],
    authorize: remembered((user, password) => isUser(users, user, password)),
    more: [{ port: DOOR }],
  })
  console.log('the indexer is up')
}

async function isUser(users: Users, user: string, password: string): Promise<boolean> {
  const hash = users[user]?.hash
  return hash !== undefined && (await verify(password, hash))
}

type Check = (user: string, password: string) => Promise<boolean>

/** A hash is slow on purpose; who was let in once is let in again. */
export function remembered(check: Check): Check {
  const known = new Set<string>()
  return async (user, password) => {
    const mark = `${user}:${password}`
    if (known.has(mark)) return true
    const allowed = await check(user, password)
    if (allowed) known.add(mark)
    return allowed
  }
}
