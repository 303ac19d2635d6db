import { truncate } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { LOCAL_NODE_LABEL, SIMULATED_NODE_LABEL } from '../../cluster/labels.ts'
import { signIn } from '../../system/rest.ts'
import { startTemporarySystem } from '../../system/temporary.ts'
import { startHeartbeats } from './heartbeats.ts'
import { measure } from './measure.ts'
import type { Usage } from './measure.ts'
import { countRequests } from './requests.ts'

export type TenantsFigures = {
  /** From the first request on, of each tenant that became active, in seconds, ascending. */
  readonly activeAfter: readonly number[]
  /** Slug and state of each tenant that did not. */
  readonly inactive: readonly string[]
  readonly acceptedAfter: number
  readonly usage: Usage
  /** Answered by the Kubernetes API server, by client program and verb. */
  readonly requests: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly heartbeats: { readonly taken: number; readonly refused: number } | null
}

/** `local` runs the real adapters; on `simulated` nodes nothing runs, and one program sends the heartbeats of all. */
export type Nodes = 'local' | 'simulated'

const AUDIT_LOG = 'audit.log'
const HEARTBEAT_SECONDS = 10
const LIMIT_MS = 15 * 60_000

/** Creates tenants at once by REST on a system of its own and follows them until all are active. */
export async function drillTenants(count: number, nodes: Nodes): Promise<TenantsFigures> {
  const label = nodes === 'local' ? LOCAL_NODE_LABEL : SIMULATED_NODE_LABEL
  const world = await startTemporarySystem('tenants', (directory) => ({
    auditLog: join(directory, AUDIT_LOG),
    separateOperator: false,
    extraEnv: () => ({
      SERVICE_TENANT_NODE_SELECTOR: `${label}=true`,
      SERVICE_ADAPTER_HEARTBEAT_SECONDS: String(HEARTBEAT_SECONDS),
    }),
  }))
  const auditLog = join(world.directory, AUDIT_LOG)
  const connection = world.system.connection()
  const sql = postgres(connection.databases.mssp, { max: 1, fetch_types: false, onnotice: () => undefined })
  const heartbeats = nodes === 'local' ? null : await startHeartbeats(connection, HEARTBEAT_SECONDS)
  try {
    const rest = await signIn(connection)
    const api = connection.pids.api
    if (api === undefined) throw new Error('the system runs no API')
    await truncate(auditLog)
    const finish = measure(api)
    const began = performance.now()
    const create = (index: number) =>
      rest.call('POST', '/api/mssp/tenants', {
        slug: `scale-${index}`,
        display_name: `Scale ${index}`,
        profile: 'small-dev',
      })
    const accepted = Promise.all(Array.from({ length: count }, (_, index) => create(index))).then(() =>
      secondsSince(began),
    )
    const followed = await follow(sql, count, began)
    return {
      ...followed,
      acceptedAfter: await accepted,
      usage: finish(),
      requests: await countRequests(auditLog),
      heartbeats: heartbeats && { taken: heartbeats.taken(), refused: heartbeats.refused() },
    }
  } finally {
    await heartbeats?.stop()
    await sql.end({ timeout: 5 })
    await world.end()
  }
}

/** Looks into the database rather than asking by REST: the API's time shall be that of its own work. */
async function follow(sql: postgres.Sql, count: number, began: number) {
  const activeAfter: number[] = []
  const inactive = new Map<string, string>()
  for (const seen = new Set<string>(); seen.size < count && performance.now() - began < LIMIT_MS;) {
    const rows = await sql<{ slug: string; state: string }[]>`select slug, state from tenants`
    for (const { slug, state } of rows) {
      inactive.set(slug, state)
      if (state !== 'active') continue
      inactive.delete(slug)
      if (!seen.has(slug)) activeAfter.push(secondsSince(began))
      seen.add(slug)
    }
    await sleep(100)
  }
  return { activeAfter, inactive: [...inactive].map(([slug, state]) => `${slug} is ${state}`) }
}

const secondsSince = (began: number): number => (performance.now() - began) / 1_000
