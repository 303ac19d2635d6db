import { randomBytes } from 'node:crypto'
import { generateAlerts, loadAlerts, RestError, signInAt } from '@service/dev'
import type { Tenant, UserCreated } from '@service/wire'
import type { Place } from './everywhere.ts'
import { until, type World } from './harness.ts'

const canary = (): string => `canary${randomBytes(16).toString('hex')}`

/** Keys that tokens are signed with, for the environment of the API. */
export const SIGNING_KEYS = {
  SERVICE_JWT_SIGNING_KEY: canary(),
  SERVICE_ADAPTER_SIGNING_KEY: canary(),
}

export type Planted = {
  /** By what they are. */
  readonly secrets: ReadonlyMap<string, string>
  /** What the service said on the way. */
  readonly answers: readonly Place[]
}

/** Secrets that people type, choose or are given, and that others write into logs, each gone through the whole service. */
export async function plantCanaries(world: World, tenant: Tenant): Promise<Planted> {
  const { rest, connection } = world
  const made = await rest.call<UserCreated>('POST', '/api/mssp/users', {
    email: 'canary@example.test',
    display_name: 'Canary',
    role: 'analyst',
  })
  const temporary = made.temporary_password ?? ''
  const [chosen, wrong, refusedKey, takenKey, queried, bearer] = Array.from({ length: 6 }, canary)
  const short = randomBytes(5).toString('hex')
  const user = await signInAt(connection.mssp_url, { email: made.email, password: temporary })
  const change = (old: string | undefined, password: string | undefined) =>
    user.call('POST', '/api/auth/password/change', { old_password: old, new_password: password })
  await change(temporary, chosen)
  const create = (slug: string, api_key: string | undefined) =>
    rest.call('POST', '/api/mssp/tenants', { slug, display_name: 'Canary', llm: { api_key } })
  const answers = [
    await refused('a wrong password', () =>
      signInAt(connection.mssp_url, { email: made.email, password: wrong ?? '' }),
    ),
    await refused('a short password', () => change(chosen, short)),
    await refused('a wrong old password', () => change(wrong, chosen)),
    await refused('a key in a bad request', () => create('UPPER', refusedKey)),
    await refused('a key for a slug that is taken', () => create(tenant.slug, takenKey)),
    await refused('a secret in an address', () => rest.call('GET', `/api/mssp/tenants?password=${queried}`)),
    await asNobody(connection.mssp_url, bearer ?? ''),
  ]
  const secrets = new Map(
    Object.entries({
      'temporary password': temporary,
      'chosen password': chosen ?? '',
      'wrong password': wrong ?? '',
      'short password': short,
      'session cookie': user.cookie().split('=')[1] ?? '',
      'key in a bad request': refusedKey ?? '',
      'key for a slug that is taken': takenKey ?? '',
      'secret in an address': queried ?? '',
      'unknown token': bearer ?? '',
      'password in an alert': await passwordInAlert(world, tenant),
    }),
  )
  return { secrets, answers }
}

async function refused(what: string, work: () => Promise<unknown>): Promise<Place> {
  const error: unknown = await work().then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof RestError)) throw new Error(`${what} was not refused`, { cause: error })
  return { name: `error for ${what}`, text: JSON.stringify(error.body) }
}

async function asNobody(url: string, bearer: string): Promise<Place> {
  const headers = { authorization: `Bearer ${bearer}` }
  const answer = await fetch(`${url}/api/internal/adapter/config`, { headers })
  if (answer.status !== 401) throw new Error(`an unknown token was answered with ${answer.status}`)
  return { name: 'error for an unknown token', text: await answer.text() }
}

/** Written into a log by somebody else, and read by the tenant's adapter. */
async function passwordInAlert(world: World, { id, slug }: Tenant): Promise<string> {
  const password = canary()
  const [alert] = generateAlerts({ count: 1, seed: 3, until: new Date(), minutes: 1 })
  const full_log = `backup --user root --password=${password} failed`
  await loadAlerts(world.connection.indexer_url, slug, [{ ...alert, full_log }])
  await until('the alert with a password to be stored', async () => {
    const [row] = await world.sql<{ text: string }[]>`
      select payload::text as text from events where tenant_id = ${id} and kind = 'event.ingested'`
    return row?.text.includes('--password=<REDACTED') === true
  })
  return password
}
