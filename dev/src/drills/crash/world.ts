import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Failpoint } from '@service/domain'
import postgres from 'postgres'
import { ensureTools } from '../../cluster/tools.ts'
import { ROOT } from '../../system/paths.ts'
import { signIn } from '../../system/rest.ts'
import type { RestSession } from '../../system/rest.ts'
import type { System } from '../../system/system.ts'
import { startTemporarySystem } from '../../system/temporary.ts'

export type CrashWorld = {
  readonly system: System
  readonly sql: postgres.Sql
  readonly rest: RestSession
  /** For files of the drill's own. */
  readonly directory: string
  /** A copy of the tenant chart, to be broken and repaired. */
  readonly chart: string
  /** Each start of the API takes the first of these as the moment of its death; without one it lives. */
  readonly deaths: Failpoint[]
  /** With which moment of death the API was started last. */
  armed(): Failpoint | null
  /** How often the API has been started. */
  starts(): number
  kubectl(...args: readonly string[]): Promise<string>
  end(): Promise<void>
}

/** A quick successor: the lease of a killed leader has to run out first. */
export const LEASE_SECONDS = '3'

/** A system of its own in temporary folders, by default with the operator inside the API, whose API dies at ordered moments. */
export async function startCrashWorld({ separateOperator = false } = {}): Promise<CrashWorld> {
  let chart = ''
  const deaths: Failpoint[] = []
  let armed: Failpoint | null = null
  let starts = 0
  const extraEnv = (): Record<string, string> => {
    starts += 1
    armed = deaths.shift() ?? null
    const own = { SERVICE_OPERATOR_LEASE_SECONDS: LEASE_SECONDS, SERVICE_TENANT_CHART: chart }
    return armed === null ? own : { ...own, SERVICE_FAILPOINT: armed }
  }
  const temporary = await startTemporarySystem('crash', async (directory) => {
    chart = join(directory, 'chart')
    await cp(join(ROOT, 'charts/service-tenant'), chart, { recursive: true })
    return { separateOperator, extraEnv }
  })
  const { system, directory } = temporary
  const { databases, kubeconfig } = system.connection()
  const sql = postgres(databases.mssp, { max: 2, fetch_types: false, onnotice: () => undefined })
  const { kubectl } = await ensureTools()
  const run = promisify(execFile)
  return {
    system,
    sql,
    rest: await signIn(system.connection()),
    directory,
    chart,
    deaths,
    armed: () => armed,
    starts: () => starts,
    kubectl: async (...args) => {
      const limits = { timeout: 60_000, maxBuffer: 64 * 1_024 * 1_024 }
      return (await run(kubectl, ['--kubeconfig', kubeconfig, ...args], limits)).stdout
    },
    end: async () => {
      await sql.end({ timeout: 5 })
      await temporary.end()
    },
  }
}
