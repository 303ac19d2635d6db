import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { ensureTools } from '../cluster/tools.ts'
import { codeBlocks } from '../markdown.ts'
import type { Block } from '../markdown.ts'
import { ROOT } from '../system/paths.ts'

const GUIDE = join(ROOT, 'docs/install.md')
const TIMEOUT_MS = 30 * 60_000
/** Begins the line that tells which block is next; no command of the guide prints such a thing. */
const MARK = '\u001e'

/** Where the guide's commands are run, and on what. */
export type GuidePlace = {
  /** Holds what the guide writes and, as a checkout would, the charts. */
  readonly directory: string
  readonly kubeconfig: string
  /** The variables that the guide names. */
  readonly port: number
  readonly values: string
}

export const guideBlocks = async (): Promise<readonly Block[]> =>
  codeBlocks(await readFile(GUIDE, 'utf8'), 'sh')

/** The blocks below one heading. */
export async function guideSection(heading: string): Promise<readonly Block[]> {
  const found = (await guideBlocks()).filter((block) => block.heading === heading)
  if (found.length === 0) throw new Error(`docs/install.md has no commands below "${heading}"`)
  return found
}

export async function prepareGuide(place: GuidePlace, values: object): Promise<void> {
  await mkdir(place.directory, { recursive: true, mode: 0o700 })
  await symlink(join(ROOT, 'charts'), join(place.directory, 'charts'))
  await writeFile(place.values, JSON.stringify(values))
}

/**
 * Runs the guide's commands word for word, one block after the other in one shell, and ends what they leave behind. Returns
 * what they have printed; `log` is told how long each took. The first command that fails ends it.
 */
export async function runGuide(
  place: GuidePlace,
  blocks: readonly Block[],
  log: (line: string) => void,
): Promise<string> {
  const script = join(place.directory, 'guide.sh')
  const marked = blocks.map((block, index) => `printf '\\n${MARK}${index}\\n'\n${block.text}`)
  await writeFile(script, marked.join(''), { mode: 0o600 })
  const child = spawn('sh', ['-eu', script], {
    cwd: place.directory,
    env: await environmentOf(place),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    // A group of its own, with which the forwarded port ends.
    detached: true,
  })
  const errors = text(child.stderr)
  const ended = once(child, 'exit') as Promise<[number | null]>
  const printed: string[] = []
  let current: { readonly heading: string; readonly began: number } | undefined
  const finish = (): void => {
    if (current === undefined) return
    log(`guide: ${current.heading}: ${((performance.now() - current.began) / 1_000).toFixed(1)} s`)
  }
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith(MARK)) {
      printed.push(line)
      continue
    }
    finish()
    current = { heading: blocks[Number(line.slice(1))]?.heading ?? '', began: performance.now() }
  }
  const [code] = await ended
  endGroup(child.pid)
  if (code !== 0) {
    const said = [...printed.slice(-20), (await errors).slice(-4_000)].join('\n')
    throw new Error(`docs/install.md, "${current?.heading ?? ''}" ended with ${code}:\n${said}`)
  }
  finish()
  return printed.join('\n')
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGTERM')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function environmentOf(place: GuidePlace): Promise<NodeJS.ProcessEnv> {
  const { kubectl, helm } = await ensureTools()
  return {
    ...process.env,
    PATH: [dirname(kubectl), dirname(helm), process.env.PATH].join(':'),
    KUBECONFIG: place.kubeconfig,
    TMPDIR: place.directory,
    PORT: String(place.port),
    VALUES: place.values,
  }
}
