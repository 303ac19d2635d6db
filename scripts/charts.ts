import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { ensureTools } from '../dev/src/cluster/tools.ts'

/** Lints and renders every chart with each of its value sets. */
const { helm } = await ensureTools({ progress: (line) => console.log(line) })
let checked = 0
for (const values of globSync('charts/*/ci/*.yaml').toSorted()) {
  const chart = values.split('/').slice(0, 2).join('/')
  for (const args of [
    ['lint', '--strict', chart, '--values', values],
    ['template', 'check', chart, '--namespace', 'tenant-check', '--values', values],
  ]) {
    const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' })
    checked += 1
    if (status === 0) continue
    console.error(`helm ${args.join(' ')}\n${args[0] === 'lint' ? stdout : ''}${stderr}`)
    process.exitCode = 1
  }
}
if (checked === 0) {
  console.error('no value sets were found below charts/*/ci')
  process.exitCode = 1
}
console.log(`${checked} renderings`)
