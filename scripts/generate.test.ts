import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonSchema } from '../crds/src/convert.ts'
import { valuesFile, valuesTable, withTable } from './chart-files.ts'

const ROOT = resolve(import.meta.dirname, '..')
const CRD = 'crds/tenants.service.dev.yaml'
const CHARTS = ['charts/service-system', 'charts/service-tenant'] as const
const LICENCES = 'docs/licences.md'

describe('the generated files', () => {
  let copy: string
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'service-generate-'))
    mkdirSync(join(copy, 'crds'))
    mkdirSync(join(copy, 'docs'))
    cpSync(join(ROOT, LICENCES), join(copy, LICENCES))
    cpSync(join(ROOT, CRD), join(copy, CRD))
    for (const chart of CHARTS) cpSync(join(ROOT, chart), join(copy, chart), { recursive: true })
  })
  afterEach(() => rmSync(copy, { recursive: true }))

  const generate = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/generate.ts'), '--root', copy, ...args], {
      encoding: 'utf8',
    })

  it('are what the schemas say', () => {
    expect(generate('--check')).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    CRD,
    LICENCES,
    'charts/service-system/files/tenants.service.dev.yaml',
    ...CHARTS.flatMap((chart) => [`${chart}/values.yaml`, `${chart}/values.schema.json`]),
  ])('are missed when %s was edited, and written again', (path) => {
    const before = readFileSync(join(copy, path), 'utf8')
    appendFileSync(join(copy, path), '\n')
    const check = generate('--check')
    expect(check.status).toBe(1)
    expect(check.stderr).toBe(
      `${path} is not what the schemas say: run \`make generate\` and commit the result\n`,
    )
    expect(readFileSync(join(copy, path), 'utf8')).not.toBe(before)
    expect(generate()).toMatchObject({ status: 0, stdout: `wrote ${path}\n` })
    expect(readFileSync(join(copy, path), 'utf8')).toBe(before)
  })

  it('are made anew when one is missing', () => {
    rmSync(join(copy, CRD))
    expect(generate('--check').stderr).toContain(CRD)
    expect(generate().stdout).toBe(`wrote ${CRD}\n`)
  })
})

describe('the files of a chart', () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['id', 'group'],
    properties: {
      id: { type: 'string', description: 'An id.' },
      group: {
        type: 'object',
        description: 'A group.',
        required: [],
        properties: { size: { type: 'integer', default: 3, description: 'A size.' } },
      },
      tags: { type: 'array', items: { type: 'string' }, default: [], description: 'Tags.' },
      mode: { type: 'string', enum: ['a', 'b'], default: 'a', description: 'A mode.' },
    },
  }

  it('show every value with its default and what it is for', () => {
    expect(valuesFile(schema)).toBe(
      [
        '# -- Required. An id.\nid: ""\n',
        '# -- Required. A group.\ngroup:\n  # -- A size.\n  size: 3\n',
        '# -- Tags.\ntags: []\n',
        '# -- A mode.\nmode: "a"\n',
      ].join('\n'),
    )
    expect(valuesTable(schema)).toBe(
      [
        '| Key | Type | Default | Description |',
        '|---|---|---|---|',
        '| `id` | string |  | Required. An id. |',
        '| `group.size` | integer | `3` | A size. |',
        '| `tags` | list of string | `[]` | Tags. |',
        '| `mode` | `a`, `b` | `"a"` | A mode. |',
      ].join('\n'),
    )
  })

  it('leave the words of a README alone', () => {
    const readme = 'Before\n<!-- values: begin -->\nold\n<!-- values: end -->\nAfter\n'
    expect(withTable(readme, 'new')).toBe(readme.replace('old', 'new'))
    expect(() => withTable('nothing', 'new')).toThrow(/has no/)
  })
})
