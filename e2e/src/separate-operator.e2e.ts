import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureTools, WHOLE_HISTORY } from '@service/dev'
import { INSTALL_NAMESPACE } from '@service/domain'
import { createKubeClient } from '@service/kube'
import type { TenantDetail } from '@service/wire'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limitedAccount, type LimitedAccount } from '../../dev/src/testing/limited-account.ts'
import { createTenant, history, startWorld, until, untilActive, type World } from './harness.ts'

let world: World
let directory: string
/** Added to the environment of API and operator at their next start. */
let extra: Record<string, string> = {}
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'service-rights-'))
  world = await startWorld({ separateOperator: true, proxied: true, extraEnv: () => extra })
}, 900_000)
afterAll(async () => {
  await world?.end()
  await rm(directory, { recursive: true, force: true })
})

describe('a second API, in proxy mode', () => {
  // What follows takes the API away: none may be left that does its work.
  afterAll(() => world.system.stop('proxied'))

  it('believes the one address that is said to be the proxy’s, and has the same data', async () => {
    const { proxy_mssp_url: url, proxy_trusted_ip: proxy, admin } = world.connection
    const me = (localAddress: string | null): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-forwarded-email': admin.email }
        get(
          `${url}/api/mssp/me`,
          { family: 4, localAddress: localAddress ?? '127.0.0.1', headers },
          (answer) => {
            let text = ''
            answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
            answer.on('end', () => resolve(JSON.parse(text)))
          },
        ).on('error', reject)
      })
    expect(await me(proxy)).toMatchObject({ email: admin.email, role: 'platform_admin', auth_mode: 'proxy' })
    expect(await me(null)).toMatchObject({ code: 'untrusted_proxy' })
  })
})

it('the history of a tenant that was provisioned while the API was away is complete', async () => {
  const tenant = await createTenant(world, 'away')
  await until('the Tenant resource', async () =>
    (await world.kubectl('get', 'tenants', '-o', 'name')).includes('away'),
  )
  await world.system.stop('api')
  await until('the phase provisioning', async () =>
    (await world.kubectl('get', 'tenants.service.dev/away', '-o', 'jsonpath={.status.phase}')).includes(
      'provisioning',
    ),
  )
  const [before] = await world.sql<{ state: string }[]>`select state from tenants where id = ${tenant.id}`
  expect(before?.state).toBe('pending')
  await world.system.start('api')
  const active = await untilActive(world, tenant.id)
  expect(active.conditions.find((each) => each.type === 'Ready')?.status).toBe('True')
  expect(await history(world, tenant.id)).toEqual(WHOLE_HISTORY)
})

describe('an operator whose rights are taken away', () => {
  let account: LimitedAccount
  const detail = (id: string): Promise<TenantDetail> => world.rest.call('GET', `/api/mssp/tenants/${id}`)
  const untilError = (id: string): Promise<TenantDetail> =>
    until('the error', async () => {
      const tenant = await detail(id)
      return tenant.error !== null && tenant
    })

  beforeAll(async () => {
    const { kubeconfig } = world.connection
    const kube = createKubeClient({ kubeconfigPath: kubeconfig, userAgent: 'rights' })
    const { kubectl } = await ensureTools()
    const cluster = { kube, kubeconfigPath: kubeconfig, kubectl, namespace: INSTALL_NAMESPACE, directory }
    account = await limitedAccount(cluster)
    await account.grantAllBut('secrets')
    await world.system.stop('operator')
    extra = { SERVICE_KUBECONFIG: account.kubeconfig }
    await world.system.start('operator')
  })

  it('tells by REST and kubectl what it may not look at, and a retry takes it up again', async () => {
    const { id } = await createTenant(world, 'blind')
    const { error, state } = await untilError(id)
    expect(state).toBe('pending')
    expect(error).toMatchObject({ step: 'namespace', reason: 'Refused' })
    expect(error?.message).toMatch(/secrets.*forbidden/)
    const described = await world.kubectl('describe', 'tenants.service.dev/blind')
    for (const part of ['Stalled', 'Refused', 'forbidden']) expect(described).toContain(part)
    await account.grantAllBut()
    await world.rest.call('POST', `/api/mssp/tenants/${id}:retry`)
    expect((await untilActive(world, id)).error).toBeNull()
    expect((await history(world, id)).filter((line) => /step.failed|rolled_back/.test(line))).toEqual([])
  })

  it('that may not even write a status is told of by the API, until it takes the order up', async () => {
    await account.grantAllBut('write status')
    const { id } = await createTenant(world, 'mute')
    expect((await detail(id)).error).toBeNull()
    // As if the order had been given a while ago.
    await world.sql`update tenants set updated_at = now() - interval '5 minutes' where id = ${id}`
    const { error } = await untilError(id)
    expect(error).toMatchObject({ step: 'namespace', reason: 'NotObserved' })
    await account.grantAllBut()
    expect((await untilActive(world, id)).error).toBeNull()
  })
})
