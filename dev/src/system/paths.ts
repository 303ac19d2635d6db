import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { userInfo } from 'node:os'

/** The checkout that this file stands in. */
export const ROOT = resolve(import.meta.dirname, '../../..')

export type SystemPaths = {
  /** Data of databases and the cluster: outside the checkout, where another system user may read its part. */
  readonly dataDir: string
  /** Logs, connection.json: inside the checkout, ignored by git. */
  readonly localDir: string
}

/** One system per checkout: two checkouts do not share data. */
export function systemPaths(env: Readonly<Record<string, string | undefined>>): SystemPaths {
  const checkout = createHash('sha256').update(ROOT).digest('hex').slice(0, 12)
  const base = env.SERVICE_DATA_DIR ?? join('/var/tmp', `service-dev-${userInfo().uid}`)
  return { dataDir: join(base, checkout), localDir: join(ROOT, '.local') }
}
