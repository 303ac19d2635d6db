import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { buildImages, docker, readImageConfig, waitUntil } from '@service/dev'

const key = randomBytes(32).toString('hex')
const nowhere = 'postgres://service_app:none@127.0.0.1:1/service'
const id = '0190a1b2-0000-7000-8000-000000000001'

/** What each needs to start; nothing that it would reach over the network is there. */
const ENVIRONMENTS = {
  api: {
    SERVICE_MSSP_ORIGINS: 'http://localhost:8080',
    SERVICE_CUSTOMER_ORIGIN_PATTERN: 'http://*.localhost:8080',
    SERVICE_DATABASE_APP_URL: nowhere,
    SERVICE_DATABASE_MSSP_URL: nowhere,
    SERVICE_JWT_SIGNING_KEY: key,
    SERVICE_ADAPTER_SIGNING_KEY: `${key}0`,
    SERVICE_MSSP_ID: id,
    SERVICE_INSTALL_ID: id,
    SERVICE_KUBECONFIG: 'off',
    SERVICE_OPERATOR: 'off',
  },
  adapter: {
    TENANT_ID: id,
    TENANT_SLUG: 'acme',
    API_URL: 'http://127.0.0.1:1',
    INDEXER_URL: 'http://127.0.0.1:1',
    ADAPTER_TOKEN_FILE: '/tmp/token',
    BIND_ADDRESS: '127.0.0.1',
    PORT: '8080',
  },
  'runs-worker': {
    TENANT_ID: id,
    TENANT_SLUG: 'acme',
    API_URL: 'http://127.0.0.1:1',
    RUNS_WORKER_TOKEN_FILE: '/tmp/token',
    BIND_ADDRESS: '127.0.0.1',
    PORT: '8080',
  },
} as const

const started: string[] = []
afterAll(async () => {
  for (const container of started) await docker('rm', '--force', container)
})

/** As the strictest pod would be: nothing writable but /tmp, no capability, no network. */
async function start(reference: string, env: Readonly<Record<string, string>>): Promise<string> {
  const strict = [
    '--read-only',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
    '--tmpfs',
    '/tmp',
  ]
  const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const container = await docker('run', '--detach', '--network', 'none', ...strict, ...variables, reference)
  started.push(container)
  return container
}

const evaluate = (container: string, script: string): Promise<string> =>
  docker('exec', container, 'node', '--input-type=module', '--eval', script)

const LIVE = `
  const answer = await fetch('http://127.0.0.1:8080/health/live')
  process.stdout.write(JSON.stringify({ status: answer.status, body: await answer.json() }))`
const SELF = `
  import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
  const attempt = (path) => { try { writeFileSync(path, ''); return 'written' } catch (error) { return error.code } }
  const { packages } = JSON.parse(readFileSync('/app/sbom.spdx.json', 'utf8'))
  process.stdout.write(JSON.stringify({
    uid: process.getuid(), gid: process.getgid(), root: attempt('/app/x'), tmp: attempt('/tmp/x'),
    packages: packages.map(({ name }) => name), files: readdirSync('/app'),
  }))`

type Self = {
  readonly uid: number
  readonly gid: number
  readonly root: string
  readonly tmp: string
  readonly packages: readonly string[]
  readonly files: readonly string[]
}

describe('the images', async () => {
  const images = await buildImages(readImageConfig(), () => undefined)

  it.each(images)(
    '$reference answers as an unprivileged user on a read-only root',
    async ({ spec, reference }) => {
      const container = await start(reference, ENVIRONMENTS[spec.room])
      const answer = await waitUntil(
        'an answer',
        async () => JSON.parse(await evaluate(container, LIVE)) as { status: number; body: object },
        { timeoutMs: 60_000, pauseMs: 300 },
      ).catch(async (error: unknown) => {
        throw new Error(await docker('logs', container), { cause: error })
      })
      expect(answer).toMatchObject({ status: 200, body: { ok: true } })
      const self = JSON.parse(await evaluate(container, SELF)) as Self
      expect(self).toMatchObject({ uid: 10_001, gid: 10_001, root: 'EROFS', tmp: 'written' })
      expect(self.packages).toContain('valibot')
      expect(self.files).toContain('LICENSE')
      await docker('stop', '--time', '20', container)
      expect(await docker('inspect', '--format', '{{.State.ExitCode}}', container)).toBe('0')
    },
  )

  it('of the API carries helm, the migrations, the chart of a tenant and the command for passwords', async () => {
    const [api] = images
    const container = await start(api?.reference ?? '', ENVIRONMENTS.api)
    expect(await docker('exec', container, 'helm', 'version', '--short')).toMatch(/^v4\./)
    expect(await docker('exec', container, 'service-auth', '--version')).toBe('0.1.0')
    const template = ['helm', 'show', 'chart', '/app/charts/service-tenant']
    expect(await docker('exec', container, ...template)).toContain('name: service-tenant')
    const migrations = `process.stdout.write(String((await import('node:fs')).readdirSync('/app/migrations')))`
    expect(await evaluate(container, migrations)).toContain('0000_tables.sql')
  })

  it('say what they are and as whom they run', async () => {
    for (const { reference } of images) {
      const text = await docker('image', 'inspect', '--format', '{{json .Config}}', reference)
      const config = JSON.parse(text) as { User: string; Labels: Record<string, string> }
      expect(config.User).toBe('10001:10001')
      expect(config.Labels).toMatchObject({
        'org.opencontainers.image.version': '0.1.0',
        'org.opencontainers.image.licenses': 'Apache-2.0',
      })
    }
  })
})
