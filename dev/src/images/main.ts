import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildImages, readImageConfig } from './build.ts'
import type { BuiltImage, ImageConfig } from './build.ts'
import { compressedBytes, NO_DOCKER_EXIT, NoDocker } from './docker.ts'

type Sizes = {
  readonly id: string
  readonly compressed: number
  readonly helm: number
  readonly helmCompressed: number
}

const mb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

/** Compressing takes seconds: it is done once for each image. */
async function sizesOf(image: BuiltImage, { directory }: ImageConfig): Promise<Sizes> {
  const file = join(directory, `${image.spec.room}-sizes.json`)
  const kept = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as Sizes,
    () => undefined,
  )
  if (kept?.id === image.id) return kept
  const helm = image.helm === undefined ? Buffer.alloc(0) : await readFile(image.helm)
  const sizes = {
    id: image.id,
    compressed: await compressedBytes(image.reference),
    helm: helm.length,
    helmCompressed: helm.length === 0 ? 0 : gzipSync(helm).length,
  }
  await mkdir(directory, { recursive: true })
  await writeFile(file, JSON.stringify(sizes))
  return sizes
}

function line(image: BuiltImage, sizes: Sizes): string {
  const name = image.reference.padEnd(28)
  const state = image.fresh ? 'built  ' : 'present'
  const without =
    sizes.helm === 0
      ? ''
      : `; without helm ${mb(image.bytes - sizes.helm)} and ${mb(sizes.compressed - sizes.helmCompressed)}`
  return `${name} ${state} ${mb(image.bytes)} unpacked, ${mb(sizes.compressed)} compressed${without}`
}

try {
  const began = performance.now()
  const config = readImageConfig()
  const images = await buildImages(config, (text) => console.log(text))
  for (const image of images) console.log(line(image, await sizesOf(image, config)))
  console.log(`${images.length} images in ${((performance.now() - began) / 1_000).toFixed(1)} s`)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = error instanceof NoDocker ? NO_DOCKER_EXIT : 1
}
