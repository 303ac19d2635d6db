import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { tenantCrd } from '../crds/src/index.ts'

/**
 * Writes the files that come out of schemas in code. With `--check` it writes nothing and fails when a file is not
 * what the code says.
 */
type Generated = { readonly path: string; readonly render: () => string }

const COMMAND = 'npm run generate'
const yaml = (value: unknown): string =>
  `# Written by \`${COMMAND}\`; edit the schemas instead.\n${stringify(value, { lineWidth: 110, aliasDuplicateObjects: false })}`

const FILES: readonly Generated[] = [
  { path: 'crds/tenants.service.dev.yaml', render: () => yaml(tenantCrd()) },
]

const root = resolve(import.meta.dirname, '..')

function current(path: string): string | undefined {
  try {
    return readFileSync(resolve(root, path), 'utf8')
  } catch {
    return undefined
  }
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const stale = FILES.map(({ path, render }) => ({ path, text: render() })).filter(
  ({ path, text }) => current(path) !== text,
)
if (values.check) {
  for (const { path } of stale) console.error(`${path} is not what the code says: run \`${COMMAND}\``)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  for (const { path, text } of stale) {
    writeFileSync(resolve(root, path), text)
    console.log(`wrote ${path}`)
  }
}
