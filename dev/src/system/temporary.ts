import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSystemConfig, type SystemConfig } from './config.ts'
import { startSystem, type System } from './system.ts'

export type TemporarySystem = {
  readonly system: System
  /** Its own folder, for what else belongs to it. */
  readonly directory: string
  /** Where its parts and its tenants' pods write their logs. */
  readonly logFolders: readonly string[]
  /** Stops the system and removes all that it has written. */
  end(): Promise<void>
}

/** A system of a drill's or a scenario's own, beside whatever else runs on this machine. */
export async function startTemporarySystem(
  name: string,
  configure: (directory: string) => Promise<Partial<SystemConfig>> | Partial<SystemConfig> = () => ({}),
): Promise<TemporarySystem> {
  const directory = await mkdtemp(join(tmpdir(), `service-${name}-`))
  // PostgreSQL runs as another user when root starts it, and some temporary folders are closed to others.
  const dataDir = join('/var/tmp', directory.split('/').at(-1) ?? '')
  const remove = async (): Promise<void> => {
    await Promise.all([dataDir, directory].map((path) => rm(path, { recursive: true, force: true })))
  }
  const lines: string[] = []
  try {
    const config = {
      ...readSystemConfig(),
      ...(await configure(directory)),
      anyPorts: true,
      paths: { dataDir, localDir: join(directory, 'local') },
    }
    const system = await startSystem(config, (line) => lines.push(line))
    const end = async (): Promise<void> => {
      await system.shutdown()
      await remove()
    }
    const logFolders = [join(directory, 'local', 'logs'), join(dataDir, 'node', 'pods')]
    return { system, directory, logFolders, end }
  } catch (error) {
    await remove()
    throw new Error(`the system did not start:\n${lines.join('\n')}`, { cause: error })
  }
}
