import { DATABASE_ROLES, INSTALL_SECRETS, type InstallSecret, NAMESPACE_LABELS } from '@service/domain'
import { createKubeClient, isKubeError, type KubeClient, type KubeObject, SECRETS } from '@service/kube'
import type { SecretsConfig } from '../config/index.ts'
import type { Log } from '../log.ts'
import { randomPassword, randomText } from './random.ts'

const PASSWORD = 32
const SIGNING_KEY = 64

/** What each Secret holds when it is made: one value for each of its keys, in their order. */
const MAKERS: { readonly [Kind in InstallSecret]: (adminEmail: string) => readonly string[] } = {
  postgresSuperuser: () => ['postgres', randomPassword(PASSWORD)],
  postgresAdmin: () => [DATABASE_ROLES.admin, randomPassword(PASSWORD)],
  postgresApp: () => [DATABASE_ROLES.app, randomPassword(PASSWORD)],
  postgresMssp: () => [DATABASE_ROLES.mssp, randomPassword(PASSWORD)],
  jwtSigningKey: () => [randomText(SIGNING_KEY)],
  adapterSigningKey: () => [randomText(SIGNING_KEY)],
  bootstrapAdmin: (email) => [email, randomPassword(PASSWORD)],
  // There is nothing to make up: it is filled by whoever has a key.
  llmApiKey: () => [''],
}

/**
 * Makes the Secrets of the install that are absent (S "Secret placement" 2). It only ever creates: what exists is
 * neither read nor changed, so that it may run at every upgrade and needs no right but to create. Fails with KubeError.
 */
export async function ensureInstallSecrets(config: SecretsConfig, log: Log): Promise<void> {
  const { cluster: source } = config
  if (source.kind === 'off') throw new Error('without a cluster there is no place for Secrets')
  const cluster = createKubeClient({
    ...(source.kind === 'in-cluster' ? { inCluster: true as const } : { kubeconfigPath: source.path }),
    userAgent: 'service-secrets',
  })
  try {
    for (const { kind, name } of config.secrets) {
      const created = await createAbsent(cluster, secretOf(kind, name, config))
      log.info({ secret: name }, created ? 'made' : 'is there already')
    }
  } finally {
    await cluster.close()
  }
}

type Secret = KubeObject & { readonly type: 'Opaque'; readonly data: Readonly<Record<string, string>> }

function secretOf(kind: InstallSecret, name: string, config: SecretsConfig): Secret {
  const values = MAKERS[kind](config.adminEmail)
  const data = INSTALL_SECRETS[kind].keys.map((key, index) => [key, base64(values[index] ?? '')] as const)
  return {
    apiVersion: SECRETS.apiVersion,
    kind: SECRETS.kind,
    metadata: {
      name,
      namespace: config.installNamespace,
      labels: { [NAMESPACE_LABELS.managedBy]: 'service' },
    },
    type: 'Opaque',
    data: Object.fromEntries(data),
  }
}

async function createAbsent(cluster: KubeClient, secret: Secret): Promise<boolean> {
  try {
    await cluster.create(SECRETS, secret)
    return true
  } catch (error) {
    if (isKubeError(error, 'AlreadyExists')) return false
    throw error
  }
}

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
