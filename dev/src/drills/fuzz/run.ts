import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readClusterConfig } from '../../cluster/config.ts'
import type { Caller } from './callers.ts'
import { addReport, type Figures } from './figures.ts'

export type Run = {
  readonly python: string
  readonly url: string
  readonly directory: string
  readonly seed: number
  readonly examples: number
}

const SHARED = join(import.meta.dirname, 'schemathesis.toml')

/** Lets schemathesis call as somebody; `selection` chooses operations. Adds to `figures`; answers what it printed. */
export async function runAs(
  caller: Caller,
  { python, url, directory, seed, examples }: Run,
  selection: readonly string[],
  figures: Figures,
): Promise<string> {
  const name = caller.name.replaceAll(/[^a-z_]+/g, '-')
  const config = join(directory, `${name}.toml`)
  await writeFile(config, `${await readFile(SHARED, 'utf8')}\n${callerPart(caller)}`, { mode: 0o600 })
  const report = join(directory, `${name}.ndjson`)
  const document = `${url}/api/openapi.json`
  const args = ['-m', 'schemathesis.cli', '--config-file', config, 'run', document, '--url', url]
  args.push('--seed', String(seed), '--max-examples', String(examples), ...selection)
  args.push('--report-ndjson-path', report, '--no-color')
  const { code, output } = await execute(python, args, directory)
  // 1 tells of findings, which the report has, too.
  if (code !== 0 && code !== 1) throw new Error(`schemathesis ended with ${code}:\n${output}`)
  await addReport(figures, report)
  if (code === 1 && figures.findings.size === 0) figures.findings.set('schemathesis tells of an error', '')
  return output
}

/** TOML takes JSON's strings. */
function callerPart({ headers, credentials }: Caller): string {
  const table = (name: string, values: object) => [
    `[${name}]`,
    ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ]
  return [
    ...(Object.keys(headers).length === 0 ? [] : table('headers', headers)),
    ...Object.entries(credentials).flatMap(([scheme, values]) => table(`auth.openapi.${scheme}`, values)),
  ].join('\n')
}

function execute(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...readClusterConfig().childEnv, PYTHONUNBUFFERED: '1' },
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString('utf8') }))
  })
}
