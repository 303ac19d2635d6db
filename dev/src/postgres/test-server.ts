import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate as migrateService } from '@service/api/database'
import { isRunning, ownRecord } from '../process.ts'
import type { ProcessRecord } from '../process.ts'
import { isReachable } from './binaries.ts'
import { DATABASE, endLeftovers, startEmbeddedPostgres } from './embedded.ts'
import type { DatabaseUrls, RolePasswords } from './embedded.ts'

/** What test files need to make databases on the run's server; plain data, for vitest's provide and inject. */
export type TestPostgres = {
  readonly superuserUrl: string
  readonly passwords: RolePasswords
  /** A migrated database that nobody may be connected to. */
  readonly template: string
}

export type TestPostgresServer = {
  readonly context: TestPostgres
  /** The template's own URLs. */
  readonly urls: DatabaseUrls
  stop(): Promise<void>
}

type Migrate = typeof migrateService
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const PREFIX = 'service-test-postgres-'

/** For a vitest globalSetup: one server for the run, with a migrated template. Without durability, so never for data. */
export async function startTestPostgres(options: { migrate?: Migrate } = {}): Promise<TestPostgresServer> {
  const base = (await isReachable(tmpdir())) ? tmpdir() : '/var/tmp'
  await removeAbandoned(base)
  const directory = await mkdtemp(join(base, PREFIX))
  await writeFile(join(directory, 'owner.json'), JSON.stringify(ownRecord('test run')))
  const server = await startEmbeddedPostgres({ dataDir: directory, durable: false })
  const stop = async () => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await (options.migrate ?? migrateService)({ adminUrl: server.urls.admin, log: silent })
  } catch (error) {
    await stop()
    throw error
  }
  const { superuserUrl, passwords } = server
  return { context: { superuserUrl, passwords, template: DATABASE }, urls: server.urls, stop }
}

/** A killed test run leaves its server behind. */
async function removeAbandoned(base: string): Promise<void> {
  const names = (await readdir(base)).filter((name) => name.startsWith(PREFIX))
  for (const name of names) {
    const directory = join(base, name)
    const owner = await readOwner(directory)
    if (owner === undefined || isRunning(owner)) continue
    await endLeftovers(directory)
    await rm(directory, { recursive: true, force: true })
  }
}

async function readOwner(directory: string): Promise<ProcessRecord | undefined> {
  return readFile(join(directory, 'owner.json'), 'utf8').then(
    (text) => JSON.parse(text) as ProcessRecord,
    () => undefined,
  )
}
