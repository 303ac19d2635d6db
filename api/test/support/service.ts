import { randomBytes } from 'node:crypto'
import type { TestDatabase } from './database.ts'
import { INSTALL } from './fixture.ts'

export const ADMIN = { email: 'admin@example.com', password: 'a long enough password' }

/** The environment of a whole process, `migrate` and `serve`, without an operator. */
export const serviceEnvironment = (parts: {
  readonly urls: TestDatabase['urls']
  readonly kubeconfigPath: string
  readonly port: number
  readonly metricsPort: number
}): Record<string, string> => ({
  PATH: '/usr/bin:/bin',
  SERVICE_LISTEN: `127.0.0.1:${parts.port}`,
  SERVICE_METRICS_LISTEN: `127.0.0.1:${parts.metricsPort}`,
  SERVICE_MSSP_ORIGINS: `http://localhost:${parts.port}`,
  SERVICE_CUSTOMER_ORIGIN_PATTERN: `http://*.localhost:${parts.port}`,
  SERVICE_COOKIE_SECURE: 'false',
  SERVICE_DATABASE_APP_URL: parts.urls.app,
  SERVICE_DATABASE_MSSP_URL: parts.urls.mssp,
  SERVICE_DATABASE_ADMIN_URL: parts.urls.admin,
  SERVICE_JWT_SIGNING_KEY: randomBytes(32).toString('hex'),
  SERVICE_ADAPTER_SIGNING_KEY: `base64:${randomBytes(32).toString('base64')}`,
  SERVICE_BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
  SERVICE_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  SERVICE_BOOTSTRAP_ADMIN_MUST_CHANGE: 'false',
  SERVICE_MSSP_ID: INSTALL.msspId,
  SERVICE_INSTALL_ID: INSTALL.installId,
  SERVICE_KUBECONFIG: parts.kubeconfigPath,
  SERVICE_OPERATOR: 'off',
})
