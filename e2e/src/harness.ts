import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ensureTools, joinKindSystem, signIn, startTemporarySystem, waitUntil } from '@service/dev'
import type { Connection, RestSession, System } from '@service/dev'
import type { Tenant, TenantDetail } from '@service/wire'
import postgres from 'postgres'
import { worldFile } from './config.ts'
import { filePlaces, type Place } from './everywhere.ts'

export type World = {
  readonly system: System
  readonly connection: Connection
  readonly rest: RestSession
  readonly sql: postgres.Sql
  kubectl(...args: readonly string[]): Promise<string>
  /** All that our processes and the tenants' pods have logged. */
  logs(): Promise<Place[]>
  end(): Promise<void>
}

type WorldOptions = {
  separateOperator: boolean
  /** Of a world of the test's own only. */
  proxied?: boolean
  extraEnv?: () => Readonly<Record<string, string>>
}

/** The system that the environment names, else one of the test's own. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const file = worldFile()
  if (file === undefined) return startOwnWorld(options)
  const system = await joinKindSystem(file)
  return worldOf(system, podLogs, () => Promise.resolve())
}

/** In temporary folders, beside whatever else runs on this machine. */
async function startOwnWorld(options: WorldOptions): Promise<World> {
  const temporary = await startTemporarySystem('e2e', () => options)
  return worldOf(
    temporary.system,
    () => filePlaces(temporary.logFolders),
    () => temporary.end(),
  )
}

async function podLogs(kubectl: World['kubectl']): Promise<Place[]> {
  const columns = 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\\n"}{end}'
  const pods = (await kubectl('get', 'pods', '-A', '-o', columns)).trim().split('\n')
  const places: Place[] = []
  for (const pod of pods) {
    const [namespace = '', name = ''] = pod.split(' ')
    if (namespace !== 'service-system' && !namespace.startsWith('tenant-')) continue
    places.push({
      name: `log ${name.replace('service-system-', '')} of ${namespace}`,
      text: await kubectl('logs', '-n', namespace, name, '--all-containers'),
    })
  }
  return places
}

async function worldOf(
  system: System,
  logs: (kubectl: World['kubectl']) => Promise<Place[]>,
  end: () => Promise<void>,
): Promise<World> {
  const connection = system.connection()
  const { kubectl } = await ensureTools()
  const sql = postgres(connection.databases.mssp, { max: 2, fetch_types: false, onnotice: () => undefined })
  const run = promisify(execFile)
  const limits = { timeout: 60_000, maxBuffer: 256 * 1_024 * 1_024 }
  const ask: World['kubectl'] = async (...args) =>
    (await run(kubectl, ['--kubeconfig', connection.kubeconfig, ...args], limits)).stdout
  return {
    system,
    connection,
    rest: await signIn(connection),
    sql,
    kubectl: ask,
    logs: () => logs(ask),
    end: async () => {
      await sql.end({ timeout: 5 })
      await end()
    },
  }
}

/** A world with the operator inside the API and one active tenant. */
export async function startTenantWorld(
  slug: string,
): Promise<{ world: World; tenant: TenantDetail; pid: number | undefined }> {
  const world = await startWorld({ separateOperator: false })
  try {
    const tenant = await untilActive(world, (await createTenant(world, slug)).id)
    return { world, tenant, pid: apiPid(world) }
  } catch (error) {
    await world.end()
    throw error
  }
}

/** On kind the parts of a stack are containers of their own, with volumes that are made first. */
const PATIENCE_MS = worldFile() === undefined ? 90_000 : 240_000

export const until = <T>(
  what: string,
  attempt: () => Promise<T | undefined | false>,
  timeoutMs = PATIENCE_MS,
): Promise<T> => waitUntil(what, attempt, { timeoutMs, pauseMs: 100 })

export const untilActive = (world: World, id: string, timeoutMs?: number): Promise<TenantDetail> =>
  until(
    `tenant ${id} to be active`,
    async () => {
      const tenant = await world.rest.call<TenantDetail>('GET', `/api/mssp/tenants/${id}`)
      return tenant.state === 'active' ? tenant : undefined
    },
    timeoutMs,
  )

export const createTenant = (world: World, slug: string): Promise<Tenant> =>
  world.rest.call<Tenant>('POST', '/api/mssp/tenants', {
    slug,
    display_name: `Tenant ${slug}`,
    profile: 'small-dev',
    llm: { base_url: 'https://llm.example/v1', model: 'm', api_key: CANARY },
  })

/** A secret that must stand nowhere but in its places. */
export const CANARY = 'canary-key-6b1f0c9e5d'

/** The whole history, oldest first, as `kind step from>to`. */
export async function history(world: World, id: string): Promise<string[]> {
  const rows = await world.sql<
    { kind: string; from_state: string | null; to_state: string | null; step: string | null }[]
  >`
    select kind, from_state, to_state, details ->> 'step' as step from tenant_lifecycle_events
    where tenant_id = ${id} order by journal_seq nulls first, at`
  return rows.map((row) =>
    [
      row.kind,
      row.step,
      row.from_state === row.to_state ? null : `${row.from_state ?? 'none'}>${row.to_state}`,
    ]
      .filter((part) => part !== null)
      .join(' '),
  )
}

export type Readiness = { readonly status: number; readonly checks: Readonly<Record<string, string>> }

/** What a probe sees; `null` when nobody answers. */
export async function readiness({ connection }: World): Promise<Readiness | null> {
  const options = { signal: AbortSignal.timeout(10_000) }
  const response = await fetch(`${connection.mssp_url}/health/ready`, options).catch(() => null)
  if (response === null) return null
  const { checks } = (await response.json()) as { checks: Record<string, string> }
  return { status: response.status, checks }
}

/** A process that ended would have been started again under another pid. */
export const apiPid = ({ system }: World): number | undefined => system.connection().pids.api

/** The token that the tenant's own adapter uses. */
export async function adapterToken(world: World, slug: string): Promise<string> {
  const jsonpath = 'jsonpath={.data.token}'
  const encoded = await world.kubectl(
    '-n',
    `tenant-${slug}`,
    'get',
    'secret',
    'adapter-token',
    '-o',
    jsonpath,
  )
  return Buffer.from(encoded, 'base64').toString()
}

/** Every change of state that the history tells, oldest first, as `from>to`. */
export async function transitions(world: World, id: string): Promise<string[]> {
  const lines = await history(world, id)
  return lines
    .filter((line) => line.startsWith('state.changed '))
    .map((line) => line.slice('state.changed '.length))
}
