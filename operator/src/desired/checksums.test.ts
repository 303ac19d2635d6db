import { TENANT_SECRETS } from '@service/domain'
import { expect, it } from 'vitest'
import { checksumsOf } from './checksums.ts'

const all = new Map(
  Object.values(TENANT_SECRETS).map(({ name, keys }) => [
    name as string,
    Object.fromEntries(keys.map((key) => [key, `${name} ${key}`])),
  ]),
)
const before = checksumsOf(all)
const changedBy = (name: string, key: string): string[] => {
  const after = checksumsOf(new Map([...all, [name, { ...all.get(name), [key]: 'new' }]]))
  return Object.keys(before).filter((part) => before[part as 'manager'] !== after[part as 'manager'])
}

it.each([
  ['wazuh-manager-tls', 'tls.key', ['manager']],
  ['wazuh-indexer-tls', 'tls.crt', ['indexer']],
  ['wazuh-dashboard-tls', 'tls.crt', ['dashboard']],
  ['wazuh-authd-secret', 'password', ['manager', 'linuxep']],
  ['wazuh-credentials', 'api_password', ['manager', 'dashboard']],
  ['wazuh-ca', 'ca.crt', ['linuxep']],
  // Read anew by our own pods, by a person, or at the first boot alone.
  ['adapter-token', 'token', []],
  ['runs-worker-token', 'token', []],
  ['tenant-llm-key', 'api_key', []],
  ['adapter-indexer-credentials', 'password', []],
  ['wazuh-admin-tls', 'tls.key', []],
  ['wazuh-indexer-users', 'internal_users.yml', []],
])('a new %s %s concerns %j', (name, key, parts) => {
  expect(changedBy(name, key)).toEqual(parts)
})

it('is the same for the same, whatever else lies in a Secret', () => {
  expect(changedBy('wazuh-credentials', 'a key of nobody')).toEqual([])
  expect(checksumsOf(new Map([...all].toReversed()))).toEqual(before)
  for (const digest of Object.values(before)) expect(digest).toMatch(/^[0-9a-f]{64}$/)
})
