import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import * as v from 'valibot'
import { parse } from 'yaml'
import { ensureChartTools } from '../dev/src/cluster/tools.ts'
import { ensureSchemas, schemaLocation } from './chart-schemas.ts'

/**
 * Checks every chart with each of its value sets: lint, render, schemas of Kubernetes, practices. All checks run, the
 * first failure does not hide the rest. Progress goes to stderr: the first run on a machine builds tools.
 */
const Ignored = v.strictObject({
  ignore: v.array(
    v.strictObject({
      check: v.pipe(v.string(), v.nonEmpty()),
      only: v.optional(v.string()),
      reason: v.pipe(v.string(), v.minLength(20)),
    }),
  ),
})
/** Not ours and not of Kubernetes; rendered only where cert-manager is. */
const FOREIGN_KINDS = 'cert-manager.io/v1/Certificate'

const progress = (line: string): void => console.error(line)
const tools = await ensureChartTools({ progress })
const schemas = await ensureSchemas(progress)
const { ignore } = v.parse(Ignored, parse(readFileSync('charts/kube-score.yaml', 'utf8')))

let problems = 0
function run(what: string, command: string, args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    input,
    maxBuffer: 2 ** 26,
  })
  if (status === 0 && error === undefined) return stdout
  problems += 1
  console.error(`${what}\n${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`)
  return ''
}

const valueSets = globSync('charts/*/ci/*.yaml').toSorted()
for (const values of valueSets) {
  const chart = values.split('/').slice(0, 2).join('/')
  const given = ['--values', values]
  run(`lint ${values}`, tools.helm, ['lint', '--strict', chart, ...given])
  const more = ['--namespace', 'check', '--api-versions', 'cert-manager.io/v1']
  const objects = run(`render ${values}`, tools.helm, ['template', 'check', chart, ...more, ...given])
  if (objects === '') continue
  const location = ['-strict', '-schema-location', schemaLocation(schemas), '-skip', FOREIGN_KINDS]
  run(`kubeconform ${values}`, tools.kubeconform, [...location, '-summary', '-'], objects)
  const ignored = ignore.flatMap(({ check, only }) =>
    only === undefined || values.includes(only) ? ['--ignore-test', check] : [],
  )
  const options = ['--exit-one-on-warning', '--output-format', 'ci', ...ignored]
  run(`kube-score ${values}`, tools.kubeScore, ['score', ...options, '-'], objects)
}
if (valueSets.length === 0) {
  console.error('no value sets were found below charts/*/ci')
  problems += 1
}
if (problems > 0) process.exitCode = 1
console.log(`${valueSets.length} value sets, ${problems} problems`)
