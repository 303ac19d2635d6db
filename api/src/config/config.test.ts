import { expect, test } from 'vitest'
import { ConfigError, helpText, parseMigrateConfig, parseSecretsConfig, parseServeConfig } from './index.ts'
import { VARIABLES } from './variables.ts'

const ID = '0197a000-0000-7000-8000-000000000001'
const KEY = 'k'.repeat(32)
const SERVE = {
  SERVICE_MSSP_ORIGINS: 'http://localhost:8080, https://Console.Example.com:443/',
  SERVICE_CUSTOMER_ORIGIN_PATTERN: 'http://*.localhost:8080',
  SERVICE_DATABASE_APP_URL: 'postgres://service_app:x@127.0.0.1/service',
  SERVICE_DATABASE_MSSP_URL: 'postgres://service_mssp:x@127.0.0.1/service',
  SERVICE_JWT_SIGNING_KEY: KEY,
  SERVICE_ADAPTER_SIGNING_KEY: `base64:${Buffer.alloc(40, 7).toString('base64')}`,
  SERVICE_MSSP_ID: ID,
  SERVICE_INSTALL_ID: ID,
}
const noFiles = (path: string): string => {
  throw new Error(`no file ${path}`)
}
const problemsOf = (env: Record<string, string | undefined>): readonly string[] => {
  try {
    parseServeConfig(env, noFiles)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

test('reads a whole environment, with defaults', () => {
  const config = parseServeConfig(SERVE, noFiles)
  expect(config.hosts.msspOrigins).toEqual(['http://localhost:8080', 'https://console.example.com'])
  expect(config.hosts.customer).toEqual({ protocol: 'http:', base: 'localhost:8080' })
  expect(config.listen).toEqual({ host: '0.0.0.0', port: 8080 })
  expect(config.cookieSecure).toBe(true)
  expect(config.keys.adapter[0]).toHaveLength(40)
  expect(config.keys.emailHmac).toHaveLength(32)
  expect(config.keys.emailHmac).not.toEqual(config.keys.fingerprint)
  expect(config.cluster).toEqual({ kind: 'in-cluster' })
})

test('names every missing variable with its form, at once', () => {
  const problems = problemsOf({})
  const required = Object.entries(VARIABLES).filter(([, variable]) => !('fallback' in variable))
  const expected = required.filter(([name]) => name !== 'SERVICE_DATABASE_ADMIN_URL')
  expect(problems.toSorted()).toEqual(
    expected.map(([name, { expected: form }]) => `${name} is required: ${form}`).toSorted(),
  )
})

test.each([
  ['SERVICE_AUTH_MODE', 'both'],
  ['SERVICE_TRUSTED_HEADER_USER', 'X Forwarded'],
  ['SERVICE_TRUSTED_HEADER_EMAIL', 'X-E:mail'],
  ['SERVICE_TRUSTED_PROXY_CIDRS', '10.0.0.1'],
  ['SERVICE_TRUSTED_PROXY_CIDRS', '10.0.0.0/33'],
  ['SERVICE_TRUSTED_PROXY_CIDRS', '10.0.0/8'],
  ['SERVICE_TRUSTED_PROXY_CIDRS', '::/129'],
  ['SERVICE_TRUSTED_PROXY_CIDRS', 'proxy.example/32'],
  ['SERVICE_LISTEN', '8080'],
  ['SERVICE_LISTEN', 'localhost:70000'],
  ['SERVICE_MSSP_ORIGINS', 'console.example.com'],
  ['SERVICE_MSSP_ORIGINS', 'https://console.example.com/path'],
  ['SERVICE_MSSP_ORIGINS', 'https://user@console.example.com'],
  ['SERVICE_MSSP_ORIGINS', 'https://a.example.com,'],
  ['SERVICE_CUSTOMER_ORIGIN_PATTERN', 'http://localhost:8080'],
  ['SERVICE_CUSTOMER_ORIGIN_PATTERN', 'http://*.*.localhost'],
  ['SERVICE_COOKIE_SECURE', 'yes'],
  ['SERVICE_DATABASE_APP_URL', 'mysql://x'],
  ['SERVICE_JWT_SIGNING_KEY', 'short'],
  ['SERVICE_JWT_SIGNING_KEY', 'base64:AAAA'],
  ['SERVICE_MSSP_ID', 'ABC'],
  ['SERVICE_OPERATOR', 'on'],
  ['SERVICE_ADAPTER_HEARTBEAT_SECONDS', '0'],
  ['SERVICE_ADAPTER_HEARTBEAT_SECONDS', '1.5'],
  ['SERVICE_DEFAULT_LLM_BASE_URL', 'ftp://x'],
  ['SERVICE_FAILPOINT', 'api.nowhere'],
  ['SERVICE_FAILPOINT', 'api.create.committed:0'],
  ['SERVICE_FAILPOINT', 'api.create.committed:'],
] as const)('refuses %s=%s without repeating the value', (name, value) => {
  expect(problemsOf({ ...SERVE, [name]: value })).toEqual([`${name} must be ${VARIABLES[name].expected}`])
})

test('reads whom to believe in proxy mode: nobody, unless told', () => {
  const usual = { user: 'x-forwarded-user', email: 'x-forwarded-email', groups: 'x-forwarded-groups' }
  expect(parseServeConfig(SERVE, noFiles).identityProxy).toEqual({ headers: usual, trusted: [] })
  const env = {
    ...SERVE,
    SERVICE_TRUSTED_HEADER_USER: '',
    SERVICE_TRUSTED_HEADER_EMAIL: 'X-Auth-Email',
    SERVICE_TRUSTED_PROXY_CIDRS: '10.0.0.0/8, fd00::/8,192.0.2.7/32',
  }
  expect(parseServeConfig(env, noFiles).identityProxy).toEqual({
    headers: { ...usual, email: 'x-auth-email' },
    trusted: [
      { address: '10.0.0.0', prefix: 8, family: 'ipv4' },
      { address: 'fd00::', prefix: 8, family: 'ipv6' },
      { address: '192.0.2.7', prefix: 32, family: 'ipv4' },
    ],
  })
})

test('arms a failpoint, but never in production', () => {
  expect(parseServeConfig(SERVE, noFiles).failpoint).toBeNull()
  const armed = (text: string) => parseServeConfig({ ...SERVE, SERVICE_FAILPOINT: text }, noFiles).failpoint
  expect(armed('api.create.committed')).toEqual({ name: 'api.create.committed', hit: 1 })
  expect(armed('operator.release.installed:12')).toEqual({ name: 'operator.release.installed', hit: 12 })
  const production = { ...SERVE, NODE_ENV: 'production', SERVICE_FAILPOINT: 'api.create.committed' }
  expect(problemsOf(production)).toEqual([
    'SERVICE_FAILPOINT is for drills and must not be set when NODE_ENV is production',
  ])
  expect(problemsOf({ ...SERVE, NODE_ENV: 'production' })).toEqual([])
})

test('reads secrets from files and refuses two sources', () => {
  const readFile = (path: string) => (path === '/keys/jwt' ? `${KEY}\n` : noFiles(path))
  const { SERVICE_JWT_SIGNING_KEY: _, ...rest } = SERVE
  const config = parseServeConfig({ ...rest, SERVICE_JWT_SIGNING_KEY_FILE: '/keys/jwt' }, readFile)
  expect(Buffer.from(config.keys.jwt[0]).toString()).toBe(KEY)
  expect(problemsOf({ ...rest, SERVICE_JWT_SIGNING_KEY_FILE: '/none' })).toContain(
    'SERVICE_JWT_SIGNING_KEY_FILE must be the path of a readable file',
  )
  expect(problemsOf({ ...SERVE, SERVICE_JWT_SIGNING_KEY_FILE: '/keys/jwt' })).toContain(
    'SERVICE_JWT_SIGNING_KEY and SERVICE_JWT_SIGNING_KEY_FILE exclude each other',
  )
})

test('reserves the names of own hosts under the customer wildcard', () => {
  const env = {
    ...SERVE,
    SERVICE_MSSP_ORIGINS: 'http://console-of-ours.localhost:8080,http://localhost:8080',
  }
  const { reservedSlugs } = parseServeConfig(env, noFiles).provisioning
  expect(reservedSlugs.has('console-of-ours')).toBe(true)
  expect(reservedSlugs.has('www')).toBe(true)
  expect(reservedSlugs.has('acme')).toBe(false)
})

test('asks the init step for both halves of the first administrator', () => {
  const env = {
    SERVICE_DATABASE_ADMIN_URL: 'postgres://service_admin:x@127.0.0.1/service',
    SERVICE_MSSP_ID: ID,
    SERVICE_INSTALL_ID: ID,
  }
  expect(parseMigrateConfig(env, noFiles).admin).toBeNull()
  expect(() => parseMigrateConfig({ ...env, SERVICE_BOOTSTRAP_ADMIN_EMAIL: 'a@b.example' }, noFiles)).toThrow(
    'go together',
  )
  const whole = {
    SERVICE_BOOTSTRAP_ADMIN_EMAIL: 'A@b.example',
    SERVICE_BOOTSTRAP_ADMIN_PASSWORD: 'x'.repeat(12),
  }
  expect(parseMigrateConfig({ ...env, ...whole }, noFiles).admin).toEqual({
    email: 'a@b.example',
    password: 'x'.repeat(12),
    mustChange: true,
  })
})

test('puts addresses and credentials together, whatever signs a password has', () => {
  const env = {
    ...SERVE,
    SERVICE_DATABASE_APP_URL: 'postgres://db.example/service?sslmode=verify-full',
    SERVICE_DATABASE_APP_USER: 'service_app',
    SERVICE_DATABASE_APP_PASSWORD: 'a/b@c:%20',
  }
  const url = new URL(parseServeConfig(env, noFiles).database.appUrl)
  expect([url.username, decodeURIComponent(url.password)]).toEqual(['service_app', 'a/b@c:%20'])
  expect(url.search).toBe('?sslmode=verify-full')
})

test('makes roles only with the passwords of all of them', () => {
  const env = {
    SERVICE_DATABASE_ADMIN_URL: 'postgres://service_admin:a@127.0.0.1/soc',
    SERVICE_DATABASE_APP_URL: 'postgres://service_app:b@127.0.0.1/soc',
    SERVICE_DATABASE_SUPERUSER_URL: 'postgres://postgres:s@127.0.0.1/soc',
    SERVICE_MSSP_ID: ID,
    SERVICE_INSTALL_ID: ID,
  }
  expect(() =>
    parseMigrateConfig({ ...env, SERVICE_DATABASE_MSSP_URL: 'postgres://127.0.0.1/soc' }, noFiles),
  ).toThrow('all three roles')
  const whole = { ...env, SERVICE_DATABASE_MSSP_URL: 'postgres://service_mssp:c@127.0.0.1/soc' }
  const passwords = { admin: 'a', app: 'b', mssp: 'c' }
  expect(parseMigrateConfig(whole, noFiles).roles).toMatchObject({ database: 'soc', passwords })
  expect(parseMigrateConfig({ ...whole, SERVICE_DATABASE_SUPERUSER_URL: '' }, noFiles).roles).toBeNull()
})

test('asks for an e-mail address where a first administrator’s Secret is made', () => {
  expect(parseSecretsConfig({}).secrets).toEqual([])
  const secrets = (text: string, email?: string) => () =>
    parseSecretsConfig({ SERVICE_INSTALL_SECRETS: text, SERVICE_BOOTSTRAP_ADMIN_EMAIL: email }).secrets
  expect(secrets('jwtSigningKey=a,llmApiKey=b')()).toHaveLength(2)
  expect(secrets('bootstrapAdmin=a')).toThrow('SERVICE_BOOTSTRAP_ADMIN_EMAIL is required')
  expect(secrets('bootstrapAdmin=a', 'a@b.example')()).toEqual([{ kind: 'bootstrapAdmin', name: 'a' }])
  for (const wrong of ['whatever=a', 'jwtSigningKey', 'jwtSigningKey=A', 'constructor=a'])
    expect(secrets(wrong), wrong).toThrow('SERVICE_INSTALL_SECRETS')
})

test('the help names every variable', () => {
  for (const name of Object.keys(VARIABLES)) expect(helpText()).toContain(name)
})
