import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensureCached, type Progress } from '../../cached.ts'
import { readClusterConfig } from '../../cluster/config.ts'

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const NEEDED = 'install Python 3.11 or newer with its venv module (on Debian: python3 and python3-venv)'

/**
 * The Python that runs schemathesis, made once for each list of pinned packages. Rejects with one sentence that names what
 * is missing.
 */
export async function ensureSchemathesis(
  progress: Progress,
  { cacheDir, childEnv } = readClusterConfig(),
): Promise<string> {
  const key = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex')
  const directory = join(cacheDir, 'tools', `schemathesis-${key.slice(0, 16)}`)
  const python = join(directory, 'bin/python')
  await ensureCached(directory, {
    name: 'installation of schemathesis',
    isThere: () =>
      access(python).then(
        () => true,
        () => false,
      ),
    make: async (temporary) => {
      progress(`installing schemathesis (once; kept in ${join(cacheDir, 'tools')})`)
      install(temporary, childEnv)
    },
    progress,
  })
  return python
}

function install(folder: string, env: Readonly<Record<string, string | undefined>>): void {
  const run = (command: string, ...args: readonly string[]) =>
    spawnSync(command, args, { encoding: 'utf8', env: { ...env } })
  const version = run('python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 11))')
  if (version.error !== undefined) throw new Error(`make fuzz-api finds no python3: ${NEEDED}.`)
  if (version.status !== 0) throw new Error(`make fuzz-api needs a newer python3: ${NEEDED}.`)
  const venv = run('python3', '-m', 'venv', folder)
  if (venv.status !== 0)
    throw new Error(`python3 makes no environment (${lastLine(venv.stdout + venv.stderr)}): ${NEEDED}.`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
  const packages = run(join(folder, 'bin/python'), ...pip, '--requirement', REQUIREMENTS)
  if (packages.status !== 0) throw new Error(`schemathesis cannot be installed: ${lastLine(packages.stderr)}`)
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? ''
