import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { runInImage } from './docker.ts'

const LINKED = /^\s*(\S+\.so\S*) => (\/\S+)/gm

/**
 * Copies the system libraries that native programs are linked with and the base has nowhere: a base that is made of
 * Node.js alone lacks some. Pieces that lie beside the programs (below `own`) are theirs to find.
 */
export async function copyMissingLibraries(
  programs: readonly string[],
  own: string,
  base: string,
  target: string,
): Promise<void> {
  await mkdir(target, { recursive: true })
  const linked = new Map<string, string>()
  for (const program of programs) {
    const { stdout } = await promisify(execFile)('ldd', [program])
    for (const [, name = '', path = ''] of stdout.matchAll(LINKED))
      if (!path.startsWith(own)) linked.set(name, path)
  }
  if (linked.size === 0) return
  for (const name of await missingIn(base, [...linked.keys()])) {
    const path = linked.get(name)
    if (path !== undefined) await copyFile(path, join(target, basename(name)))
  }
}

/** Asks the base's own loader, which alone knows where it looks. */
async function missingIn(base: string, names: readonly string[]): Promise<readonly string[]> {
  const script = `
    const missing = JSON.parse(process.argv[1]).filter((name) => {
      try { process.dlopen({ exports: {} }, name) } catch (error) { return /No such file/.test(error.message) }
      return false
    })
    process.stdout.write(JSON.stringify(missing))`
  return JSON.parse(await runInImage(base, script, JSON.stringify(names))) as string[]
}
