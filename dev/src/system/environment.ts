import { join } from 'node:path'
import { INSTALL_NAMESPACE } from '@service/domain'
import { LOCAL_NODE_LABEL } from '../cluster/labels.ts'
import type { Tools } from '../cluster/tools.ts'
import type { Accounts } from './accounts.ts'
import type { Kept } from './kept.ts'
import { ROOT } from './paths.ts'

export type SystemUrls = {
  readonly mssp: string
  readonly customerTemplate: string
  readonly metrics: string
  /** What pods use: there is no DNS in the embedded cluster. */
  readonly apiForPods: string
  readonly indexer: string
  /** Of the API in proxy mode. */
  readonly proxied: string
}

export function systemUrls(kept: Kept): SystemUrls {
  const { api, metrics, indexer, proxied } = kept.ports
  return {
    mssp: `http://localhost:${api}`,
    customerTemplate: `http://{slug}.localhost:${api}`,
    metrics: `http://127.0.0.1:${metrics}/metrics`,
    apiForPods: `http://127.0.0.1:${api}`,
    indexer: `http://127.0.0.1:${indexer}`,
    proxied: `http://localhost:${proxied}`,
  }
}

export const HEARTBEAT_SECONDS = 2
export const POLL_SECONDS = 1
/** A killed operator is followed by the next one after this time; 15 in production. */
const LEASE_SECONDS = 6

export type DatabaseUrls = { readonly admin: string; readonly app: string; readonly mssp: string }

type Parts = {
  readonly kept: Kept
  readonly accounts: Accounts
  readonly tools: Tools
  readonly databases: DatabaseUrls
  readonly separateOperator: boolean
}

/** For browsers that resolve any name below localhost, and for clients that resolve none. */
const msspOrigins = (port: number) =>
  ['localhost', 'mssp.localhost', '127.0.0.1'].map((host) => `http://${host}:${port}`).join(',')
/** A request of the proxy comes from here: nothing else on this machine uses the address by itself. */
export const TRUSTED_IP = '127.81.0.1'

/** The environment of the operator, inside the API or alone. */
export function operatorEnvironment({
  kept,
  accounts,
  tools,
}: Omit<Parts, 'databases' | 'separateOperator'>) {
  const urls = systemUrls(kept)
  return {
    SERVICE_KUBECONFIG: accounts.operator,
    ...accounts.access,
    SERVICE_INSTALL_NAMESPACE: INSTALL_NAMESPACE,
    SERVICE_HELM: tools.helm,
    SERVICE_TENANT_CHART: join(ROOT, 'charts/service-tenant'),
    SERVICE_ADAPTER_API_URL: urls.apiForPods,
    SERVICE_ADAPTER_INDEXER_URL: `${urls.indexer}/{slug}`,
    SERVICE_ADAPTER_HEARTBEAT_SECONDS: String(HEARTBEAT_SECONDS),
    SERVICE_ADAPTER_POLL_SECONDS: String(POLL_SECONDS),
    SERVICE_TENANT_NODE_SELECTOR: `${LOCAL_NODE_LABEL}=true`,
    SERVICE_OPERATOR_LEASE_SECONDS: String(LEASE_SECONDS),
  }
}

export function apiEnvironment(parts: Parts) {
  const { kept, databases } = parts
  const urls = systemUrls(kept)
  return {
    ...operatorEnvironment(parts),
    SERVICE_KUBECONFIG: parts.accounts.api,
    SERVICE_AUTH_MODE: 'internal',
    SERVICE_LISTEN: `127.0.0.1:${kept.ports.api}`,
    SERVICE_METRICS_LISTEN: `127.0.0.1:${kept.ports.metrics}`,
    SERVICE_MSSP_ORIGINS: msspOrigins(kept.ports.api),
    SERVICE_CUSTOMER_ORIGIN_PATTERN: urls.customerTemplate.replace('{slug}', '*'),
    SERVICE_COOKIE_SECURE: 'false',
    SERVICE_DATABASE_APP_URL: databases.app,
    SERVICE_DATABASE_MSSP_URL: databases.mssp,
    SERVICE_JWT_SIGNING_KEY: kept.jwtKey,
    SERVICE_ADAPTER_SIGNING_KEY: kept.adapterKey,
    SERVICE_MSSP_ID: kept.msspId,
    SERVICE_MSSP_NAME: 'Example MSSP',
    SERVICE_INSTALL_ID: kept.installId,
    SERVICE_INSTALL_LABEL: 'development',
    SERVICE_OPERATOR: parts.separateOperator ? 'separate' : 'embedded',
  }
}

/** A second API over the same data; the first one runs the operator, or knows who does. */
export function proxiedEnvironment(parts: Parts) {
  const { proxied, proxiedMetrics } = parts.kept.ports
  return {
    ...apiEnvironment(parts),
    SERVICE_AUTH_MODE: 'proxy',
    SERVICE_TRUSTED_PROXY_CIDRS: `${TRUSTED_IP}/32`,
    SERVICE_LISTEN: `127.0.0.1:${proxied}`,
    SERVICE_METRICS_LISTEN: `127.0.0.1:${proxiedMetrics}`,
    SERVICE_MSSP_ORIGINS: msspOrigins(proxied),
    SERVICE_CUSTOMER_ORIGIN_PATTERN: `http://*.localhost:${proxied}`,
    SERVICE_OPERATOR: 'separate',
  }
}

/** The init step's: it alone knows the owner's credentials and the first administrator's password. */
export function migrateEnvironment(parts: Parts) {
  return {
    ...apiEnvironment(parts),
    SERVICE_DATABASE_ADMIN_URL: parts.databases.admin,
    SERVICE_BOOTSTRAP_ADMIN_EMAIL: parts.kept.admin.email,
    SERVICE_BOOTSTRAP_ADMIN_PASSWORD: parts.kept.admin.password,
    SERVICE_BOOTSTRAP_ADMIN_MUST_CHANGE: 'false',
  }
}
