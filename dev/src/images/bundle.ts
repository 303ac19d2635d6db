import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from '../system/paths.ts'
import type { ImageSpec } from './catalogue.ts'

/** Packages among the dependencies are CommonJS and require modules of Node. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);"

type Bundled = Pick<ImageSpec, 'entries' | 'patched'>

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//

/**
 * Writes one ESM file for each entry, beside it what entries share and native pieces. Returns the folders of the packages in them,
 * from the checkout's root. Rejects when a patch of ours is not in what was bundled.
 */
export async function bundle(spec: Bundled, outdir: string): Promise<ReadonlySet<string>> {
  const { metafile, warnings } = await build({
    absWorkingDir: ROOT,
    entryPoints: { ...spec.entries },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // The cluster's client alone is 20 MB, and two entries have it.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Optional colours of a logger, here only because development tools bring them.
    external: ['supports-color'],
    loader: { '.node': 'copy' },
    assetNames: '[name]',
    banner: { js: REQUIRE },
    legalComments: 'eof',
    metafile: true,
    logLevel: 'error',
  })
  if (warnings.length > 0) throw new Error(`the bundle in ${outdir}: ${warnings[0]?.text}`)
  const texts = await Promise.all(
    Object.keys(metafile.outputs)
      .filter((path) => path.endsWith('.mjs'))
      .map((path) => readFile(join(ROOT, path), 'utf8')),
  )
  for (const words of spec.patched)
    if (!texts.some((text) => text.includes(words)))
      throw new Error(`the bundle in ${outdir} lacks a patch of patches/: run "npm ci"`)
  const used = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  return new Set(used.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))
}
