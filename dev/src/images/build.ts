import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureTools } from '../cluster/tools.ts'
import { ROOT } from '../system/paths.ts'
import { bundle } from './bundle.ts'
import { IMAGES } from './catalogue.ts'
import type { ImageSpec } from './catalogue.ts'
import { docker, inspectImage, requireDocker, runInImage } from './docker.ts'
import { copyMissingLibraries } from './libraries.ts'
import { sbom } from './sbom.ts'

export type BuiltImage = {
  readonly spec: ImageSpec
  readonly reference: string
  readonly id: string
  readonly bytes: number
  /** Path of helm when the image carries it. */
  readonly helm: string | undefined
  /** False: the engine held exactly this image already. */
  readonly fresh: boolean
}

export type ImageConfig = {
  /** Base of every image; without it the one that the Dockerfiles name. */
  readonly baseImage: string | undefined
  /** Where build contexts are put together; inside the checkout, ignored by git. */
  readonly directory: string
}

export function readImageConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): ImageConfig {
  const baseImage = env.NODE_BASE_IMAGE === '' ? undefined : env.NODE_BASE_IMAGE
  return { baseImage, directory: join(ROOT, '.local/images') }
}

/** The label that says what an image was built from: the same digest, the same image. */
const CONTEXT_LABEL = 'dev.service.context'

/** Builds the product's images where they are not built yet. Rejects with NoDocker without a Docker engine. */
export async function buildImages(
  config: ImageConfig,
  log: (line: string) => void,
): Promise<readonly BuiltImage[]> {
  if (process.platform !== 'linux')
    throw new Error(
      'Images hold native pieces and helm of the machine they are made on: build them on Linux.',
    )
  await requireDocker()
  const { helm } = await ensureTools({ progress: log })
  const built: BuiltImage[] = []
  for (const spec of IMAGES)
    built.push(await buildProductImage(spec, spec.helm ? helm : undefined, config, log))
  return built
}

async function buildProductImage(
  spec: ImageSpec,
  helm: string | undefined,
  config: ImageConfig,
  log: (line: string) => void,
): Promise<BuiltImage> {
  const context = join(config.directory, spec.room)
  await assemble(spec, helm, context)
  const base = config.baseImage ?? (await defaultBase(context))
  await ensureBase(base, log)
  await addLibraries(context, base)
  await addCommands(spec, context, base)
  const version = await versionOf(spec.room)
  const reference = `${spec.repository}:${version}`
  const fresh = await buildContext({
    reference,
    context,
    base,
    args: { VERSION: version },
    log,
  })
  const { id, bytes } = (await inspectImage(reference)) ?? { id: '', bytes: 0 }
  return { spec, reference, id, bytes, helm, fresh }
}

async function assemble(spec: ImageSpec, helm: string | undefined, context: string): Promise<void> {
  const app = join(context, 'app')
  await rm(context, { recursive: true, force: true })
  await mkdir(app, { recursive: true })
  const packages = await bundle(spec, app)
  for (const [to, from] of Object.entries(spec.files))
    await cp(join(ROOT, from), join(app, to), { recursive: true })
  await writeFile(join(app, 'sbom.spdx.json'), await sbom(spec, packages, helm))
  await cp(join(ROOT, spec.room, 'Dockerfile'), join(context, 'Dockerfile'))
  if (helm !== undefined) {
    await mkdir(join(context, 'bin'))
    await cp(helm, join(context, 'bin/helm'))
    await chmod(join(context, 'bin/helm'), 0o755)
  }
}

async function addLibraries(context: string, base: string): Promise<void> {
  const app = join(context, 'app')
  const native = (await readdir(app)).filter((name) => name.endsWith('.node')).map((name) => join(app, name))
  await copyMissingLibraries(native, context, base, join(context, 'lib'))
}

/** There may be neither shell nor env in the base: a command names its Node.js by the path that it has there. */
async function addCommands({ commands }: ImageSpec, context: string, base: string): Promise<void> {
  if (Object.keys(commands).length === 0) return
  const node = await runInImage(base, 'process.stdout.write(process.execPath)')
  await mkdir(join(context, 'bin'), { recursive: true })
  for (const [name, entry] of Object.entries(commands)) {
    const path = join(context, 'bin', name)
    await writeFile(path, `#!${node}\nimport('/app/${entry}.mjs')\n`)
    await chmod(path, 0o755)
  }
}

async function versionOf(room: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(ROOT, room, 'package.json'), 'utf8')) as { version: string }
  return manifest.version
}

type Build = {
  readonly reference: string
  readonly context: string
  readonly base: string
  readonly args: Readonly<Record<string, string>>
  readonly log: (line: string) => void
}

/** Builds a context unless the engine holds its image already; says whether it did. */
export async function buildContext({ reference, context, base, args, log }: Build): Promise<boolean> {
  const digest = await digestOf(context, [await ensureBase(base, log), JSON.stringify(args)])
  if ((await inspectImage(reference))?.labels[CONTEXT_LABEL] === digest) return false
  log(`building ${reference} from ${base}`)
  const given = Object.entries({ BASE_IMAGE: base, ...args }).flatMap(([name, value]) => [
    '--build-arg',
    `${name}=${value}`,
  ])
  const command = ['build', '--tag', reference, '--label', `${CONTEXT_LABEL}=${digest}`, ...given, context]
  const child = spawn('docker', command, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-8_192)
    })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`docker build of ${reference} ended with ${code}:\n${output}`)
  return true
}

export async function defaultBase(context: string): Promise<string> {
  const base = /^ARG BASE_IMAGE=(\S+)$/m.exec(await readFile(join(context, 'Dockerfile'), 'utf8'))?.[1]
  if (base === undefined) throw new Error(`${context}/Dockerfile names no base image`)
  return base
}

/** Id of the base, which is pulled when the engine does not hold it. */
async function ensureBase(base: string, log: (line: string) => void): Promise<string> {
  const held = await inspectImage(base)
  if (held !== undefined) return held.id
  log(`pulling ${base}`)
  await docker('pull', '--quiet', base)
  return (await inspectImage(base))?.id ?? ''
}

/** The bill of materials has a date in it and says nothing that the bundle does not. */
const UNDIGESTED = 'sbom.spdx.json'

async function digestOf(context: string, more: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const part of more) hash.update(`${part}\0`)
  const files = await readdir(context, { recursive: true, withFileTypes: true })
  const paths = files.filter((file) => file.isFile() && file.name !== UNDIGESTED)
  for (const path of paths.map((file) => join(file.parentPath, file.name)).toSorted()) {
    const content = await readFile(path)
    const { mode } = await stat(path)
    hash.update(`${path.slice(context.length)}\0${mode & 0o111}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
