import { spawnSync } from 'node:child_process'
import { delimiter, resolve } from 'node:path'

/** Everything that can be said of the tree without running it. All checks run, the first failures do not hide the rest. */
const node = process.execPath
const bin = (name: string): string => `node_modules/.bin/${name}`
const CHECKS: readonly (readonly [string, string, ...string[]])[] = [
  ['format', bin('oxfmt'), '--check', '.'],
  ['lint', bin('oxlint'), '--type-aware', '--deny-warnings'],
  ['types', bin('tsc'), '--noEmit'],
  ['import rules', bin('vitest'), 'run', '--project', 'unit', 'scripts/', '--reporter=dot'],
  ['generated files', node, 'scripts/generate.ts', '--check'],
  ['charts', node, 'scripts/charts.ts'],
  ['tenant isolation', node, 'dev/src/postgres/lint-isolation.ts'],
]

// The tools are scripts for `node`: they get the project's own.
const env = { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}` }

const failed: string[] = []
for (const [name, command, ...args] of CHECKS) {
  const began = performance.now()
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env,
    // The only one that may build something first, and says so there.
    stdio: ['ignore', 'pipe', name === 'charts' ? 'inherit' : 'pipe'],
  })
  const ok = status === 0 && error === undefined
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`)
  if (ok) continue
  failed.push(name)
  console.log(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`)
}
if (failed.length > 0) {
  console.error(`verify failed: ${failed.join(', ')}`)
  process.exitCode = 1
}
