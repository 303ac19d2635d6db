import { execFile } from 'node:child_process'
import {
  chmod,
  chown,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { buildContext, defaultBase, readImageConfig } from '../images/build.ts'
import { bundle } from '../images/bundle.ts'
import { copyMissingLibraries } from '../images/libraries.ts'
import { findBinaries } from '../postgres/binaries.ts'
import { serverUser } from '../postgres/system-user.ts'
import { ROOT } from '../system/paths.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname
const TENANT_VALUES = join(ROOT, 'charts/service-tenant/values.yaml')

/** Images of ours in place of upstream ones that cannot be had without a registry; the product knows none of them. */
export const STANDINS = {
  postgres: 'standin/postgres:1',
  gateway: 'standin/gateway:1',
} as const

/** Wazuh's own names, because it is the tenant chart that names them. */
const WAZUH_PARTS = ['manager', 'indexer', 'dashboard'] as const

/** `fresh`: it had to be built. */
type Built = { readonly reference: string; readonly fresh: boolean }

export async function buildStandins(log: (line: string) => void): Promise<readonly Built[]> {
  return [{ reference: STANDINS.postgres, fresh: await buildPostgres(log) }, ...(await buildWazuh(log))]
}

async function emptied(name: string): Promise<string> {
  const context = join(readImageConfig().directory, name)
  await rm(context, { recursive: true, force: true })
  await mkdir(context, { recursive: true })
  return context
}

type ImageValues = { readonly image: { readonly repository: string; readonly tag: string } }
type ChartValues = {
  readonly components: { readonly wazuh: { readonly [P in (typeof WAZUH_PARTS)[number]]: ImageValues } }
}

/** One program for all parts; which of them it is, is told at the build. */
async function buildWazuh(log: (line: string) => void): Promise<Built[]> {
  const context = await emptied('standin-wazuh')
  const app = join(context, 'app')
  await bundle({ entries: { main: 'dev/src/kind/wazuh/main.ts' }, patched: [] }, app)
  await copyFile(join(HERE, 'wazuh/Dockerfile'), join(context, 'Dockerfile'))
  const base = readImageConfig().baseImage ?? (await defaultBase(context))
  const native = (await readdir(app)).filter((name) => name.endsWith('.node')).map((name) => join(app, name))
  await copyMissingLibraries(native, context, base, join(context, 'lib'))
  await writeFile(join(context, 'lib/.keep'), '')
  const { components } = parse(await readFile(TENANT_VALUES, 'utf8')) as ChartValues
  const parts = WAZUH_PARTS.map((part) => {
    const { repository, tag } = components.wazuh[part].image
    return { part, reference: `${repository}:${tag}` }
  })
  const built: Built[] = []
  for (const { part, reference } of [...parts, { part: 'gateway', reference: STANDINS.gateway }])
    built.push({
      reference,
      fresh: await buildContext({ reference, context, base, args: { PART: part }, log }),
    })
  return built
}

async function buildPostgres(log: (line: string) => void): Promise<boolean> {
  const { baseImage, directory } = readImageConfig()
  const user = await serverUser()
  const binaries = await findBinaries(user)
  const native = resolve(dirname(binaries.postgres), '..')
  const template = await ensureTemplate(directory, binaries.initdb, user)
  const context = await emptied('standin-postgres')
  await bundle(
    {
      entries: { main: 'dev/src/kind/postgres/main.ts', 'is-ready': 'dev/src/kind/postgres/is-ready.ts' },
      patched: [],
    },
    join(context, 'app'),
  )
  await mkdir(join(context, 'bin'))
  const isReady = join(context, 'bin/pg_isready')
  await writeFile(isReady, "#!/usr/local/bin/node\nimport('/app/is-ready.mjs')\n")
  await chmod(isReady, 0o755)
  for (const part of ['bin/postgres', 'lib', 'share'])
    await cp(join(native, part), join(context, 'native', part), { recursive: true, verbatimSymlinks: true })
  await cp(template, join(context, 'template'), { recursive: true })
  await open(context)
  await copyFile(join(HERE, 'postgres/Dockerfile'), join(context, 'Dockerfile'))
  const base = baseImage ?? (await defaultBase(context))
  await copyMissingLibraries([binaries.postgres], native, base, join(context, 'lib'))
  return buildContext({ reference: STANDINS.postgres, context, base, args: {}, log })
}

/** What initdb makes has an identifier of its own: it is kept, so that an unchanged image stays the same. */
async function ensureTemplate(
  directory: string,
  initdb: string,
  user: { readonly uid: number; readonly gid: number } | null,
): Promise<string> {
  const target = join(directory, 'standin-postgres-template')
  if (await stat(join(target, 'PG_VERSION')).catch(() => undefined)) return target
  await rm(target, { recursive: true, force: true })
  // Outside the checkout, where the server's own user may come.
  const staging = await mkdtemp('/var/tmp/service-initdb-')
  if (user !== null) await chown(staging, user.uid, user.gid)
  const args = ['--username=postgres', '--encoding=UTF8', '--locale=C', '--no-instructions']
  const auth = ['--auth-local=trust', '--auth-host=scram-sha-256']
  await run(initdb, [`--pgdata=${staging}/data`, ...args, ...auth], {
    cwd: '/',
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  })
  await writeFile(join(staging, 'data/pg_hba.conf'), 'local all all trust\nhost all all all scram-sha-256\n')
  await cp(join(staging, 'data'), target, { recursive: true })
  await rm(staging, { recursive: true, force: true })
  return target
}

/** Everybody may read and enter: the image does not know as whom it will run. */
async function open(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await open(path)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode | 0o444)
  }
}
