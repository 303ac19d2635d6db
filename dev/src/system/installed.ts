import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { deleteKindCluster } from '../cluster/kind.ts'
import { docker, requireDocker } from '../images/docker.ts'
import type { KindWorld } from '../kind/layout.ts'
import { raiseWorld, writeWorld } from '../kind/world.ts'
import type { Place } from '../kind/world.ts'
import { waitUntil } from '../wait-until.ts'
import type { SystemConfig } from './config.ts'
import { removeConnection, writeConnection } from './connection.ts'
import type { Connection } from './connection.ts'

/** After a stop: the node, PostgreSQL, and the API behind both. */
const BACK_MS = 5 * 60_000

const placeOf = ({ paths }: SystemConfig): Place => ({
  name: `service-${basename(paths.dataDir)}-dev`,
  dataDir: join(paths.dataDir, 'installed'),
})
const worldFile = (place: Place): string => join(place.dataDir, 'world.json')
const nodeOf = ({ name }: Place): string => `${name}-control-plane`

/** `undefined`: there is no such container. */
const isRunning = (place: Place): Promise<boolean | undefined> =>
  docker('inspect', '--format', '{{.State.Running}}', nodeOf(place)).then(
    (text) => text === 'true',
    () => undefined,
  )

async function readWorld(place: Place): Promise<KindWorld | undefined> {
  try {
    return JSON.parse(await readFile(worldFile(place), 'utf8')) as KindWorld
  } catch {
    return undefined
  }
}

/** `CLUSTER=kind`: the system as a customer installs it. Made once; later only its node is started. */
export async function ensureInstalled(
  config: SystemConfig,
  say: (line: string) => void,
): Promise<Connection> {
  await requireDocker()
  const place = placeOf(config)
  const kept = await readWorld(place)
  const running = await isRunning(place)
  const { connection } = kept === undefined || running === undefined ? await install(place, say) : kept
  if (running === false) await docker('start', nodeOf(place))
  await untilReady(connection)
  await writeConnection(config.paths.localDir, connection)
  return connection
}

async function install(place: Place, say: (line: string) => void): Promise<KindWorld> {
  const world = await raiseWorld(place, 'installed', say)
  await writeWorld(worldFile(place), world)
  return world
}

const untilReady = ({ mssp_url: url }: Connection): Promise<boolean> =>
  waitUntil(
    'the API on kind to be ready',
    async () => (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) })).ok,
    { timeoutMs: BACK_MS, pauseMs: 500 },
  )

/** Stops the node, with all that runs in it; `false` when none runs. The data stays. */
export async function stopInstalled(config: SystemConfig): Promise<boolean> {
  const place = placeOf(config)
  if ((await readWorld(place)) === undefined || (await isRunning(place)) !== true) return false
  await docker('stop', nodeOf(place))
  await removeConnection(config.paths.localDir)
  return true
}

export async function removeInstalled(config: SystemConfig): Promise<void> {
  const place = placeOf(config)
  if ((await readWorld(place)) === undefined) return
  await deleteKindCluster(place)
  await removeConnection(config.paths.localDir)
}
