import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { SystemValues, TenantValues, jsonSchema, tenantCrd } from '../crds/src/index.ts'
import { renderLicences } from './licences.ts'
import { valuesFile, valuesTable, withTable } from './chart-files.ts'

/**
 * Writes the files that come out of schemas in code. With `--check` it writes nothing and fails when a file is not
 * what the code says. `--root` is the folder that they are below, by default this tree.
 */
type Generated = { readonly path: string; readonly render: (current: string) => string }

const COMMAND = 'make generate'
const HEADER = `# Written by \`${COMMAND}\`; edit the schemas instead.\n`
const crd = (): string => HEADER + stringify(tenantCrd(), { lineWidth: 110, aliasDuplicateObjects: false })

/** What a chart says of its values: the schema that Helm holds them to, the defaults, the table of the README. */
function filesOfChart(name: string, schema: Parameters<typeof jsonSchema>[0]): Generated[] {
  const values = jsonSchema(schema)
  return [
    { path: `charts/${name}/values.schema.json`, render: () => `${JSON.stringify(values, null, 2)}\n` },
    { path: `charts/${name}/values.yaml`, render: () => `${HEADER}\n${valuesFile(values)}` },
    { path: `charts/${name}/README.md`, render: (current) => withTable(current, valuesTable(values)) },
  ]
}

const FILES: readonly Generated[] = [
  { path: 'crds/tenants.service.dev.yaml', render: crd },
  { path: 'charts/service-system/files/tenants.service.dev.yaml', render: crd },
  ...filesOfChart('service-system', SystemValues),
  ...filesOfChart('service-tenant', TenantValues),
  { path: 'docs/licences.md', render: () => renderLicences(resolve(import.meta.dirname, '..')) },
]

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    root: { type: 'string', default: resolve(import.meta.dirname, '..') },
  },
})

function read(path: string): string {
  try {
    return readFileSync(resolve(options.root, path), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

const stale = FILES.map(({ path, render }) => {
  const current = read(path)
  return { path, current, wanted: render(current) }
}).filter(({ current, wanted }) => current !== wanted)
for (const { path, wanted } of stale) {
  if (options.check) {
    console.error(`${path} is not what the schemas say: run \`${COMMAND}\` and commit the result`)
    process.exitCode = 1
  } else {
    writeFileSync(resolve(options.root, path), wanted)
    console.log(`wrote ${path}`)
  }
}
