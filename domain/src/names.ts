/** Names that stand in more than one room (S "Secret placement", "namespaceLabels"; decisions 3.1, 8.1, 8.6, 8.8). */
export const SLUG = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/

/** Labels of hosts under a customer wildcard that are not tenants (decision 2.10); the configured hosts come on top. */
export const RESERVED_SLUGS: readonly string[] = [
  'admin',
  'api',
  'app',
  'auth',
  'console',
  'docs',
  'health',
  'kube',
  'localhost',
  'login',
  'mail',
  'metrics',
  'mssp',
  'portal',
  'service',
  'static',
  'status',
  'support',
  'system',
  'www',
]

export const INSTALL_NAMESPACE = 'service-system'
export const SESSION_COOKIE = 'service_session'

/** Members of answers that are told once and stored nowhere (decisions 1.7, 10.2). */
export const ONE_TIME_SECRETS: ReadonlySet<string> = new Set([
  'temporary_password',
  'token',
  'bootstrap_token',
])

export const GROUP = 'service.dev'
export const VERSION = 'v1alpha1'
export const PLURAL = 'tenants'
export const KIND = 'Tenant'
export const FINALIZER = 'service.dev/teardown'
export const RELEASE_NAME = 'service-tenant'
export const ADAPTER_LEASE_NAME = 'adapter'
export const LEADER_LEASE_NAME = 'service-operator'
/** In each tenant's namespace: what lets the operator in. */
export const TENANT_ROLE_BINDING = 'service-operator'
export const FIELD_MANAGER = { api: 'service-api', operator: 'service-operator' } as const

export const ANNOTATIONS = {
  requestedAt: 'service.dev/requested-at',
  reconcile: 'service.dev/reconcile',
} as const

/** Label keys of a tenant's namespace, literally as S names them. */
export const NAMESPACE_LABELS = {
  tenant: 'tenant',
  managedBy: 'managed-by',
  msspId: 'mssp-id',
  installId: 'install-id',
  tenantId: 'tenant-id',
} as const

export const namespaceOf = (slug: string): string => `tenant-${slug}`

/** The install-namespace Secret with all of a tenant's material and tokens (decision 8.8). */
export const materialSecretName = (tenantId: string): string => `tenant-${tenantId}`
/** S's audit copy of the LLM key; no pod mounts it. */
export const llmCopySecretName = (tenantId: string): string => `tenant-${tenantId}-llm`

/** Services of the Wazuh stack in a tenant's namespace; their certificates name them. */
export const WAZUH_SERVICES = {
  manager: 'wazuh-manager',
  indexer: 'wazuh-indexer',
  dashboard: 'wazuh-dashboard',
} as const

/** Fixed users of a tenant's indexer. The adapter's reads alerts and nothing else. */
export const INDEXER_USERS = { admin: 'admin', dashboard: 'kibanaserver', adapter: 'alert-reader' } as const

const TLS_KEYS = ['ca.crt', 'tls.crt', 'tls.key'] as const

/**
 * Secrets of a tenant's namespace and their keys (S "Secret placement" 3). Beside those that S names stand what the
 * Wazuh stack needs before its first boot: its PKI, the indexer's users with their hashes, the adapter's own user.
 */
export const TENANT_SECRETS = {
  adapterToken: { name: 'adapter-token', keys: ['token'] },
  runsWorkerToken: { name: 'runs-worker-token', keys: ['token'] },
  llmKey: { name: 'tenant-llm-key', keys: ['api_key'] },
  wazuhAuthd: { name: 'wazuh-authd-secret', keys: ['password'] },
  wazuhCredentials: {
    name: 'wazuh-credentials',
    keys: ['indexer_username', 'indexer_password', 'dashboard_password', 'api_username', 'api_password'],
  },
  adapterIndexer: { name: 'adapter-indexer-credentials', keys: ['username', 'password'] },
  indexerUsers: { name: 'wazuh-indexer-users', keys: ['internal_users.yml'] },
  wazuhCa: { name: 'wazuh-ca', keys: ['ca.crt'] },
  indexerTls: { name: 'wazuh-indexer-tls', keys: TLS_KEYS },
  managerTls: { name: 'wazuh-manager-tls', keys: TLS_KEYS },
  dashboardTls: { name: 'wazuh-dashboard-tls', keys: TLS_KEYS },
  adminTls: { name: 'wazuh-admin-tls', keys: TLS_KEYS },
} as const
export type TenantSecretName = (typeof TENANT_SECRETS)[keyof typeof TENANT_SECRETS]['name']

/**
 * Secrets of the install's namespace and their keys (S "Secret placement" 2). The name of each is the release's, as a rule
 * `service-system`, and this one behind it. The superuser is not S's: it makes the roles of a database that comes with the
 * chart (decision 8b), and its Secret is used by nobody else.
 */
export const INSTALL_SECRETS = {
  postgresSuperuser: { name: 'postgres-superuser-creds', keys: ['user', 'password'] },
  postgresAdmin: { name: 'postgres-admin-creds', keys: ['user', 'password'] },
  postgresApp: { name: 'postgres-app-creds', keys: ['user', 'password'] },
  postgresMssp: { name: 'postgres-mssp-creds', keys: ['user', 'password'] },
  jwtSigningKey: { name: 'jwt-signing-key', keys: ['key'] },
  adapterSigningKey: { name: 'adapter-signing-key', keys: ['key'] },
  bootstrapAdmin: { name: 'bootstrap-admin', keys: ['email', 'password'] },
  llmApiKey: { name: 'llm-api-key', keys: ['api_key'] },
} as const
export type InstallSecret = keyof typeof INSTALL_SECRETS

/** The roles of the database that log in (S "Row-level security" 3). */
export const DATABASE_ROLES = { admin: 'service_admin', app: 'service_app', mssp: 'service_mssp' } as const

/** The key of the material Secret that holds `<secret>.<key>` of the tenant's namespace. */
export const materialKey = (secret: string, key: string): string => `${secret}.${key}`

/** Stays in the install's namespace: who has it can make certificates that the tenant's stack trusts. */
export const CA_KEY_MATERIAL = 'wazuh-ca-key.tls.key'
