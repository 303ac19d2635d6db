import { CA_KEY_MATERIAL, INDEXER_USERS, materialKey, TENANT_SECRETS, WAZUH_SERVICES } from '@service/domain'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { createAuthority, isLastingLeaf, issueLeaf, type KeyPair } from './pki.ts'
import { randomPassword, randomText } from './random.ts'

/** A tenant's secret texts, by the key of the material Secret that holds them. */
export type Material = Readonly<Record<string, string>>

const PASSWORD = 32
const ENROLMENT_SECRET = 48
/** The passwords are random and long: nothing is gained by a slow hash, and each new connection pays for it. */
const BCRYPT = { cost: 6, version: '2y' } as const

const { wazuhAuthd, wazuhCredentials, adapterIndexer, indexerUsers, wazuhCa } = TENANT_SECRETS
const credential = (key: (typeof wazuhCredentials.keys)[number]) => materialKey(wazuhCredentials.name, key)
const CA_CERTIFICATE = materialKey(wazuhCa.name, 'ca.crt')
const USERS = materialKey(indexerUsers.name, 'internal_users.yml')
const ADAPTER_PASSWORD = materialKey(adapterIndexer.name, 'password')

/** Within the namespace, and as other namespaces and the pod itself call it. */
const hostsOf = (service: string, namespace: string): string[] => [
  service,
  `${service}.${namespace}`,
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
  'localhost',
]

const LEAVES = [
  [TENANT_SECRETS.indexerTls.name, 'indexer', WAZUH_SERVICES.indexer],
  [TENANT_SECRETS.managerTls.name, 'manager', WAZUH_SERVICES.manager],
  [TENANT_SECRETS.dashboardTls.name, 'dashboard', WAZUH_SERVICES.dashboard],
  [TENANT_SECRETS.adminTls.name, 'admin', null],
] as const

/**
 * Everything that a Wazuh stack needs before its first boot: what `present` has stays as it is, what is missing is made,
 * and a leaf that is about to expire is made anew (decision 8.8). Answers the whole, and the keys that are new in it.
 */
export async function completeWazuhMaterial(
  present: Material,
  tenant: { readonly id: string; readonly namespace: string },
  now: Date,
): Promise<{ readonly material: Material; readonly added: readonly string[] }> {
  const kept = Object.fromEntries(Object.entries(present).filter(([, text]) => text !== ''))
  const credentials = { ...newCredentials(), ...kept }
  const authority = await authorityOf(kept, tenant.id, now)
  const leaves = await Promise.all(
    LEAVES.map(async ([secret, commonName, service]) => {
      const old = keyPairOf(kept, secret)
      const lasting = old !== null && (await isLastingLeaf(old.certificate, authority.certificate, now))
      const hosts = service === null ? [] : hostsOf(service, tenant.namespace)
      const leaf = lasting ? old : await issueLeaf(authority, commonName, hosts, now)
      return leafMaterial(secret, authority, leaf)
    }),
  )
  const material: Material = {
    // What others have written stays, also the empty LLM key of a tenant that has none.
    ...present,
    ...credentials,
    [CA_CERTIFICATE]: authority.certificate,
    [CA_KEY_MATERIAL]: authority.key,
    ...Object.assign({}, ...leaves),
    [USERS]: kept[USERS] ?? (await internalUsers(credentials)),
  }
  return { material, added: Object.keys(material).filter((key) => material[key] !== present[key]) }
}

const newCredentials = (): Material => ({
  [materialKey(wazuhAuthd.name, 'password')]: randomText(ENROLMENT_SECRET),
  [credential('indexer_username')]: INDEXER_USERS.admin,
  [credential('indexer_password')]: randomPassword(PASSWORD),
  [credential('dashboard_password')]: randomPassword(PASSWORD),
  [credential('api_username')]: 'wazuh-wui',
  [credential('api_password')]: randomPassword(PASSWORD),
  [materialKey(adapterIndexer.name, 'username')]: INDEXER_USERS.adapter,
  [ADAPTER_PASSWORD]: randomPassword(PASSWORD),
})

/** Half an authority is none: leaves of an unknown key could not be replaced one by one. */
function authorityOf(kept: Material, tenantId: string, now: Date): Promise<KeyPair> | KeyPair {
  const certificate = kept[CA_CERTIFICATE]
  const key = kept[CA_KEY_MATERIAL]
  return certificate === undefined || key === undefined
    ? createAuthority(tenantId, now)
    : { certificate, key }
}

function keyPairOf(kept: Material, secret: string): KeyPair | null {
  const certificate = kept[materialKey(secret, 'tls.crt')]
  const key = kept[materialKey(secret, 'tls.key')]
  return certificate === undefined || key === undefined ? null : { certificate, key }
}

const leafMaterial = (secret: string, authority: KeyPair, leaf: KeyPair): Material => ({
  [materialKey(secret, 'ca.crt')]: authority.certificate,
  [materialKey(secret, 'tls.crt')]: leaf.certificate,
  [materialKey(secret, 'tls.key')]: leaf.key,
})

/** The indexer's whole user database for its first boot: no demo user is in it. */
async function internalUsers(credentials: Material): Promise<string> {
  const passwordOf = (key: string): string => {
    const password = credentials[key]
    if (password === undefined) throw new Error(`the material has no ${key}`)
    return password
  }
  const [admin, dashboard, adapter] = await Promise.all(
    [credential('indexer_password'), credential('dashboard_password'), ADAPTER_PASSWORD].map((key) =>
      hash(passwordOf(key), BCRYPT),
    ),
  )
  return stringify({
    _meta: { type: 'internalusers', config_version: 2 },
    [INDEXER_USERS.admin]: { hash: admin, reserved: true, backend_roles: ['admin'] },
    [INDEXER_USERS.dashboard]: { hash: dashboard, reserved: true },
    [INDEXER_USERS.adapter]: { hash: adapter, reserved: true },
  })
}
