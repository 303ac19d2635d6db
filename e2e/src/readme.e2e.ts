import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { codeBlocks, ensureTools, readSystemConfig } from '@service/dev'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The commands of the README, word for word, as somebody runs them who has just cloned: only the dependencies are there. */
const ROOT = resolve(import.meta.dirname, '../..')
const NOT_COPIED = new Set(['node_modules', '.git', '.local'])
const MINUTE = 60_000

let clone: string
let dataDir: string
let blocks: string[]
beforeAll(async () => {
  await promisify(execFile)('bash', ['-c', 'command -v curl && command -v jq']).catch(() => {
    throw new Error('the README needs curl and jq: install both')
  })
  blocks = codeBlocks(await readFile(join(ROOT, 'README.md'), 'utf8'), 'sh').map(({ text }) => text)
  clone = await mkdtemp(join(tmpdir(), 'service-readme-'))
  dataDir = join('/var/tmp', basename(clone))
  await cp(ROOT, clone, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !NOT_COPIED.has(basename(path)),
  })
  await linkDependencies()
})
afterAll(async () => {
  await shell('make reset').catch(() => undefined)
  await rm(dataDir, { recursive: true, force: true })
  await rm(clone, { recursive: true, force: true })
}, MINUTE)

/** Entry by entry, with a stamp of its own: whatever is installed in the clone reaches no folder of this checkout. */
async function linkDependencies(): Promise<void> {
  const target = join(clone, 'node_modules')
  await mkdir(target)
  const names = (await readdir(join(ROOT, 'node_modules'))).filter((name) => name !== '.installed')
  await Promise.all(names.map((name) => symlink(join(ROOT, 'node_modules', name), join(target, name))))
  await writeFile(join(target, '.installed'), '')
}

async function shell(commands: string): Promise<string> {
  const env = { ...readSystemConfig().childEnv, SERVICE_DATA_DIR: dataDir }
  const options = { cwd: clone, env, timeout: 4 * MINUTE }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)
  return stdout
}

const block = (beginning: string): string => {
  const found = blocks.filter((each) => each.startsWith(beginning))
  expect(found, `blocks of the README that begin with ${beginning}`).toHaveLength(1)
  return found[0] ?? ''
}

describe('the README', () => {
  // `make test` is what runs this; everything else is run below.
  it('has no other commands than these', () => {
    expect(blocks.map((each) => each.split('\n')[0])).toEqual([
      'make demo',
      'make test',
      'make up',
      'url=$(jq -r .mssp_url .local/connection.json)',
    ])
  })

  it(
    'brings the system up and tells where it is',
    async () => {
      const printed = await shell(block('make up'))
      const file = join(clone, '.local/connection.json')
      const connection = JSON.parse(await readFile(file, 'utf8')) as { mssp_url: string }
      expect(printed).toContain(connection.mssp_url)
      expect((await stat(file)).mode & 0o777).toBe(0o600)
    },
    5 * MINUTE,
  )

  it('onboards a tenant by REST in one minute', async () => {
    const began = performance.now()
    const lines = await shell(block('url='))
    expect(performance.now() - began).toBeLessThan(MINUTE)
    expect(lines).toMatch(/"platform_admin"[^]*"state": "pending"[^]*"slug": "globex"/)
  })

  it(
    'shows the demo on the same system',
    async () => {
      expect(await shell(block('make demo'))).toMatch(/tenant acme active, [1-9]\d* alerts stored/)
    },
    5 * MINUTE,
  )

  it('shows tenants as the first lines promise', async () => {
    const file = join(clone, '.local/connection.json')
    const { kubeconfig } = JSON.parse(await readFile(file, 'utf8')) as { kubeconfig: string }
    const { kubectl } = await ensureTools()
    const printed = await shell(`${kubectl} --kubeconfig ${kubeconfig} get tenants`)
    const columns = (text: string) => /^ *(NAME +PHASE .*)$/m.exec(text)?.[1]?.split(/ +/)
    const promised = columns(await readFile(join(ROOT, 'README.md'), 'utf8'))
    expect(promised).toBeDefined()
    expect(columns(printed)).toEqual(promised)
    expect(printed).toMatch(/^acme +active +True +\d+\.\d+\.\d+ +True +\w+$/m)
  })
})
