import { hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type ArmedFailpoint, RESERVED_SLUGS } from '@service/domain'
import * as parse from './parsers.ts'
import { createReader, type Environment, type ReadFile, type Reader } from './reader.ts'

/** The current key first; the others are still accepted. */
export type KeyRing = readonly [Uint8Array, ...Uint8Array[]]
export type Hosts = {
  /** The first is canonical. */
  readonly msspOrigins: readonly [string, ...string[]]
  readonly customer: parse.CustomerOrigins
}
export type Install = {
  readonly msspId: string
  readonly msspName: string
  readonly installId: string
  readonly installLabel: string
}
/** What a tenant gets when its creator says nothing, and what is pinned for all (S "Control-plane chart values"). */
export type Provisioning = {
  readonly llm: { readonly provider: string; readonly baseUrl: string; readonly model: string }
  readonly chart: { readonly ref: string; readonly version: string }
  readonly images: { readonly adapter: string; readonly runsWorker: string; readonly linuxEp: string }
  readonly reservedSlugs: ReadonlySet<string>
}
/** Who may say in proxy mode who somebody is, and with which headers (decision 2.7). Names in lower case. */
export type IdentityProxy = {
  readonly headers: { readonly user: string; readonly email: string; readonly groups: string }
  readonly trusted: readonly parse.AddressRange[]
}
export type ServeConfig = {
  readonly authMode: 'internal' | 'proxy'
  readonly identityProxy: IdentityProxy
  readonly listen: parse.Listen
  readonly metricsListen: parse.Listen
  readonly hosts: Hosts
  readonly cookieSecure: boolean
  readonly database: { readonly appUrl: string; readonly msspUrl: string }
  readonly keys: {
    readonly jwt: KeyRing
    readonly adapter: KeyRing
    readonly emailHmac: Uint8Array
    readonly fingerprint: Uint8Array
  }
  readonly install: Install
  readonly installNamespace: string
  readonly cluster:
    | { readonly kind: 'off' }
    | { readonly kind: 'in-cluster' }
    | { readonly kind: 'kubeconfig'; readonly path: string }
  readonly operator: 'embedded' | 'separate' | 'off'
  readonly provisioning: Provisioning
  readonly adapter: { readonly heartbeatSeconds: number; readonly pollSeconds: number }
  readonly failpoint: ArmedFailpoint | null
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
}
export type MigrateConfig = {
  readonly adminUrl: string
  /** How the roles are made, when the database is our own; `null` when its owner has made them. */
  readonly roles: {
    readonly superuserUrl: string
    readonly database: string
    readonly passwords: { readonly admin: string; readonly app: string; readonly mssp: string }
  } | null
  readonly install: Install
  readonly admin: {
    readonly email: string
    readonly password: string
    readonly mustChange: boolean
  } | null
  readonly logLevel: ServeConfig['logLevel']
}

export type AuthCommandConfig = {
  readonly database: ServeConfig['database']
  /** As it is given; whether it is acceptable is the policy's business. */
  readonly password: string | null
}

/** Of the step that makes the install's Secrets. */
export type SecretsConfig = {
  readonly cluster: ServeConfig['cluster']
  readonly installNamespace: string
  readonly secrets: readonly parse.NamedSecret[]
  /** Goes into the Secret of the first administrator. */
  readonly adminEmail: string
  readonly logLevel: ServeConfig['logLevel']
}

/** The environment of this process; the only place of the room that reads it. */
export const processEnvironment = (): Environment => process.env
const fromDisk: ReadFile = (path) => readFileSync(path, 'utf8')

/** Pure but for the `_FILE` variables; throws a ConfigError that names every variable that is wrong. */
export function parseServeConfig(env: Environment, readFile: ReadFile = fromDisk): ServeConfig {
  const reader = createReader(env, readFile)
  const hosts: Hosts = {
    msspOrigins: reader.read('SERVICE_MSSP_ORIGINS', parse.origins),
    customer: reader.read('SERVICE_CUSTOMER_ORIGIN_PATTERN', parse.customerOrigins),
  }
  const config = {
    authMode: reader.read('SERVICE_AUTH_MODE', parse.oneOf('internal', 'proxy')),
    identityProxy: readIdentityProxy(reader),
    listen: reader.read('SERVICE_LISTEN', parse.listen),
    metricsListen: reader.read('SERVICE_METRICS_LISTEN', parse.listen),
    hosts,
    cookieSecure: reader.read('SERVICE_COOKIE_SECURE', parse.flag),
    database: readDatabase(reader),
    install: readInstall(reader),
    installNamespace: reader.read('SERVICE_INSTALL_NAMESPACE', parse.namespace),
    cluster: clusterOf(reader.read('SERVICE_KUBECONFIG', parse.anyText)),
    operator: reader.read('SERVICE_OPERATOR', parse.oneOf('embedded', 'separate', 'off')),
    provisioning: readProvisioning(reader),
    adapter: {
      heartbeatSeconds: reader.read('SERVICE_ADAPTER_HEARTBEAT_SECONDS', parse.wholeNumber(1, 120)),
      pollSeconds: reader.read('SERVICE_ADAPTER_POLL_SECONDS', parse.wholeNumber(1, 300)),
    },
    failpoint: readFailpoint(reader, env),
    logLevel: readLogLevel(reader),
  }
  const jwt = readKeyRing(reader, 'SERVICE_JWT_SIGNING_KEY')
  const adapter = readKeyRing(reader, 'SERVICE_ADAPTER_SIGNING_KEY')
  const emailHmac = reader.optional('SERVICE_EMAIL_HMAC_KEY', parse.signingKey)
  reader.done()
  return {
    ...config,
    provisioning: { ...config.provisioning, reservedSlugs: reservedSlugs(hosts) },
    keys: {
      jwt,
      adapter,
      emailHmac: emailHmac ?? derived(jwt[0], 'e-mail of failed logins'),
      fingerprint: derived(jwt[0], 'fingerprint of LLM keys'),
    },
  }
}

/** Of the init step, which alone knows the owner's password (S "Secret placement"). */
export function parseMigrateConfig(env: Environment, readFile: ReadFile = fromDisk): MigrateConfig {
  const reader = createReader(env, readFile)
  const adminUrl = readAddress(reader, 'ADMIN')
  const roles = readRoles(reader, adminUrl)
  const install = readInstall(reader)
  const logLevel = readLogLevel(reader)
  const email = reader.optional('SERVICE_BOOTSTRAP_ADMIN_EMAIL', parse.email)
  const password = reader.optional('SERVICE_BOOTSTRAP_ADMIN_PASSWORD', parse.password)
  const mustChange = reader.read('SERVICE_BOOTSTRAP_ADMIN_MUST_CHANGE', parse.flag)
  if ((email === null) !== (password === null))
    reader.report('SERVICE_BOOTSTRAP_ADMIN_EMAIL and SERVICE_BOOTSTRAP_ADMIN_PASSWORD go together')
  reader.done()
  const admin = email === null || password === null ? null : { email, password, mustChange }
  return { adminUrl, roles, install, admin, logLevel }
}

export function parseSecretsConfig(env: Environment, readFile: ReadFile = fromDisk): SecretsConfig {
  const reader = createReader(env, readFile)
  const secrets = reader.read('SERVICE_INSTALL_SECRETS', parse.installSecrets)
  const adminEmail = reader.optional('SERVICE_BOOTSTRAP_ADMIN_EMAIL', parse.email)
  const config = {
    cluster: clusterOf(reader.read('SERVICE_KUBECONFIG', parse.anyText)),
    installNamespace: reader.read('SERVICE_INSTALL_NAMESPACE', parse.namespace),
    logLevel: readLogLevel(reader),
  }
  if (adminEmail === null && secrets?.some(({ kind }) => kind === 'bootstrapAdmin'))
    reader.report('SERVICE_BOOTSTRAP_ADMIN_EMAIL is required for the Secret of the first administrator')
  reader.done()
  return { ...config, secrets, adminEmail: adminEmail ?? '' }
}

type DatabaseRole = 'APP' | 'MSSP' | 'ADMIN' | 'SUPERUSER'

/** Address and credentials may come apart, as they do when the one is configuration and the others are Secrets. */
function readAddress(reader: Reader, role: DatabaseRole): string {
  return parse.withCredentials(
    reader.read(`SERVICE_DATABASE_${role}_URL`, parse.postgresUrl),
    reader.optional(`SERVICE_DATABASE_${role}_USER`, parse.anyText),
    reader.optional(`SERVICE_DATABASE_${role}_PASSWORD`, parse.anyText),
  )
}

function readRoles(reader: Reader, adminUrl: string): MigrateConfig['roles'] {
  if (reader.optional('SERVICE_DATABASE_SUPERUSER_URL', parse.postgresUrl) === null) return null
  const passwordOf = (url: string): string =>
    URL.canParse(url) ? decodeURIComponent(new URL(url).password) : ''
  const passwords = {
    admin: passwordOf(adminUrl),
    app: passwordOf(readAddress(reader, 'APP')),
    mssp: passwordOf(readAddress(reader, 'MSSP')),
  }
  if (Object.values(passwords).includes(''))
    reader.report('SERVICE_DATABASE_SUPERUSER_URL needs the passwords of all three roles')
  const superuserUrl = readAddress(reader, 'SUPERUSER')
  const database = URL.canParse(adminUrl) ? decodeURIComponent(new URL(adminUrl).pathname.slice(1)) : ''
  return { superuserUrl, database, passwords }
}

/** Of `service-auth`, which runs in the pod of the service and with its variables. */
export function parseAuthCommandConfig(env: Environment, readFile: ReadFile = fromDisk): AuthCommandConfig {
  const reader = createReader(env, readFile)
  const config = {
    database: readDatabase(reader),
    password: reader.optional('SERVICE_PASSWORD', parse.anyText),
  }
  reader.done()
  return config
}

const readDatabase = (reader: Reader): ServeConfig['database'] => ({
  appUrl: readAddress(reader, 'APP'),
  msspUrl: readAddress(reader, 'MSSP'),
})

function readInstall(reader: Reader): Install {
  return {
    msspId: reader.read('SERVICE_MSSP_ID', parse.uuid),
    msspName: reader.read('SERVICE_MSSP_NAME', parse.anyText),
    installId: reader.read('SERVICE_INSTALL_ID', parse.uuid),
    installLabel: reader.read('SERVICE_INSTALL_LABEL', parse.anyText),
  }
}

function readProvisioning(reader: Reader): Omit<Provisioning, 'reservedSlugs'> {
  return {
    llm: {
      provider: reader.read('SERVICE_DEFAULT_LLM_PROVIDER', parse.anyText),
      baseUrl: reader.read('SERVICE_DEFAULT_LLM_BASE_URL', parse.webAddress),
      model: reader.read('SERVICE_DEFAULT_LLM_MODEL', parse.anyText),
    },
    chart: {
      ref: reader.read('SERVICE_TENANT_CHART_REF', parse.anyText),
      version: reader.read('SERVICE_TENANT_CHART_VERSION', parse.anyText),
    },
    images: {
      adapter: reader.read('SERVICE_IMAGE_ADAPTER', parse.anyText),
      runsWorker: reader.read('SERVICE_IMAGE_RUNS_WORKER', parse.anyText),
      linuxEp: reader.read('SERVICE_IMAGE_LINUX_EP', parse.anyText),
    },
  }
}

const readIdentityProxy = (reader: Reader): IdentityProxy => ({
  headers: {
    user: reader.read('SERVICE_TRUSTED_HEADER_USER', parse.headerName),
    email: reader.read('SERVICE_TRUSTED_HEADER_EMAIL', parse.headerName),
    groups: reader.read('SERVICE_TRUSTED_HEADER_GROUPS', parse.headerName),
  },
  trusted: reader.read('SERVICE_TRUSTED_PROXY_CIDRS', parse.addressRanges),
})

const readLogLevel = (reader: Reader): ServeConfig['logLevel'] =>
  reader.read('SERVICE_LOG_LEVEL', parse.oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'))

/** Nothing that runs for customers can be made to die on order. */
function readFailpoint(reader: Reader, env: Environment): ArmedFailpoint | null {
  const armed = reader.optional('SERVICE_FAILPOINT', parse.failpoint)
  if (armed !== null && env.NODE_ENV === 'production')
    reader.report('SERVICE_FAILPOINT is for drills and must not be set when NODE_ENV is production')
  return armed
}

function readKeyRing(
  reader: Reader,
  name: 'SERVICE_JWT_SIGNING_KEY' | 'SERVICE_ADAPTER_SIGNING_KEY',
): KeyRing {
  const current = reader.read(name, parse.signingKey)
  const previous = reader.optional(`${name}_PREVIOUS`, parse.signingKey)
  return previous === null ? [current] : [current, previous]
}

function clusterOf(text: string): ServeConfig['cluster'] {
  if (text === 'off') return { kind: 'off' }
  return text === '' ? { kind: 'in-cluster' } : { kind: 'kubeconfig', path: text }
}

/** Names under the customer wildcard that are hosts of ours already (decision 2.10). */
function reservedSlugs(hosts: Hosts): ReadonlySet<string> {
  const suffix = `.${hosts.customer.base}`
  const own = hosts.msspOrigins
    .map((origin) => new URL(origin).host)
    .filter((host) => host.endsWith(suffix))
    .map((host) => host.slice(0, -suffix.length))
  return new Set([...RESERVED_SLUGS, ...own])
}

/** A key of its own for each purpose, so that no key signs two things (HKDF, SHA-256). */
function derived(key: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', `service: ${purpose}`, 32))
}
