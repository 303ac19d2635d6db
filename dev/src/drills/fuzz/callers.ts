import { TENANT_SECRETS } from '@service/domain'
import type { Tenant, TenantCreated, UserCreated } from '@service/wire'
import { connectApi, readKubeconfig } from '../../cluster/client.ts'
import type { Connection } from '../../system/connection.ts'
import { type RestSession, signIn, signInAt } from '../../system/rest.ts'
import type { System } from '../../system/system.ts'
import { waitUntil } from '../../wait-until.ts'

/** Who calls, and as what. */
export type Caller = {
  readonly name: string
  /** Whose host, and whose origin; without an origin every request names one of the generator's. */
  readonly headers: Readonly<Record<string, string>>
  /** What the document's security schemes are given. */
  readonly credentials: Readonly<Record<string, { readonly api_key: string } | { readonly bearer: string }>>
  /** Whether these credentials still say who calls; keeps a session from running out. */
  readonly isKnown: () => Promise<boolean>
}

const SLUG = 'fuzz'
const PASSWORD = 'a password for the fuzzing'

/**
 * An active tenant, and everybody who calls, signed in: those that may do less come first, so that nobody takes from the
 * others what they need. The operator has stopped by then: what is made from now on costs rows, and no pods.
 */
export async function prepareCallers(system: System): Promise<Caller[]> {
  const connection = system.connection()
  const staff = await signIn(connection)
  const customerUrl = connection.customer_url_template.replace('{slug}', SLUG)
  const tenant = await staff.call<TenantCreated>('POST', '/api/mssp/tenants', {
    slug: SLUG,
    display_name: 'Fuzzed',
    profile: 'small-dev',
    contact_email: 'admin@fuzz.example',
  })
  const tenantAdmin = await firstSession(customerUrl, 'admin@fuzz.example', tenant.contact)
  const viewer = await tenantAdmin.call<UserCreated>('POST', '/api/tenant/users', {
    email: 'viewer@fuzz.example',
    role: 'customer_viewer',
  })
  const customerViewer = await firstSession(customerUrl, viewer.email, viewer)
  await waitUntil(
    `tenant ${SLUG} to be active`,
    async () => (await staff.call<Tenant>('GET', `/api/mssp/tenants/${tenant.id}`)).state === 'active',
    { timeoutMs: 120_000, pauseMs: 200 },
  )
  await system.stop('operator')
  const at = (url: string) => ({ Host: new URL(url).host, Origin: url })
  const mssp = at(connection.mssp_url)
  const anybody = { credentials: {}, isKnown: () => Promise.resolve(true) }
  return [
    { ...anybody, name: 'nobody', headers: mssp },
    { ...anybody, name: 'nobody, of any origin', headers: { Host: mssp.Host } },
    { ...anybody, name: 'adapter and runs worker', headers: {}, credentials: await tokensOf(connection) },
    { name: 'customer_viewer', headers: at(customerUrl), ...sessionOf(customerViewer) },
    { name: 'tenant_admin', headers: at(customerUrl), ...sessionOf(tenantAdmin) },
    { name: 'platform_admin', headers: mssp, ...sessionOf(staff) },
  ]
}

const sessionOf = (session: RestSession): Pick<Caller, 'credentials' | 'isKnown'> => ({
  credentials: { session: { api_key: session.cookie().split('=')[1] ?? '' } },
  isKnown: () =>
    session.call('GET', '/api/auth/me').then(
      () => true,
      () => false,
    ),
})

type OneTime = { readonly temporary_password: string | null }

/** Signs in for the first time and makes the password one's own. */
async function firstSession(url: string, email: string, made: OneTime | null): Promise<RestSession> {
  const password = made?.temporary_password
  if (typeof password !== 'string') throw new Error(`there is no temporary password of ${email}`)
  const session = await signInAt(url, { email, password })
  const change = { old_password: password, new_password: PASSWORD }
  await session.call('POST', '/api/auth/password/change', change)
  return session
}

async function tokensOf({ kubeconfig }: Connection): Promise<Caller['credentials']> {
  const api = connectApi(await readKubeconfig(kubeconfig))
  const read = async (name: string) => {
    const path = `/api/v1/namespaces/tenant-${SLUG}/secrets/${name}`
    const { data } = await api.call<{ data: { token: string } }>('GET', path)
    return { bearer: Buffer.from(data.token, 'base64').toString() }
  }
  const { adapterToken, runsWorkerToken } = TENANT_SECRETS
  return { adapterToken: await read(adapterToken.name), workerToken: await read(runsWorkerToken.name) }
}
