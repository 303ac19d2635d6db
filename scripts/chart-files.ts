import type { JsonSchema } from '../crds/src/convert.ts'

/** One value of a chart: its dotted key, what it takes, what it is without a word from anybody. */
type Row = { readonly key: string; readonly schema: JsonSchema; readonly required: boolean }

const isGroup = ({ properties }: JsonSchema): boolean => properties !== undefined

/** values.yaml: every key of the schema with its default, above it what it is for. */
export function valuesFile(schema: JsonSchema): string {
  return entries(schema)
    .map((row) => block(row, 0))
    .join('\n')
}

function block({ key, schema, required }: Row, depth: number): string {
  const indent = '  '.repeat(depth)
  const head = `${indent}# -- ${describe(schema, required)}\n${indent}${key}:`
  if (!isGroup(schema)) return `${head} ${JSON.stringify(schema.default ?? '')}\n`
  return `${head}\n${entries(schema)
    .map((row) => block(row, depth + 1))
    .join('')}`
}

/** The table of values in a chart's README: the leaves only. */
export function valuesTable(schema: JsonSchema): string {
  const rows = leaves(schema, '').map(({ key, schema, required }) => {
    const fallback = required ? '' : `\`${JSON.stringify(schema.default)}\``
    return `| \`${key}\` | ${typeOf(schema)} | ${fallback} | ${describe(schema, required)} |`
  })
  return ['| Key | Type | Default | Description |', '|---|---|---|---|', ...rows].join('\n')
}

function leaves(schema: JsonSchema, prefix: string): Row[] {
  return entries(schema).flatMap((row) => {
    const key = prefix === '' ? row.key : `${prefix}.${row.key}`
    return isGroup(row.schema) ? leaves(row.schema, key) : [{ ...row, key }]
  })
}

/** A key of which nothing is required and nothing has a default is for nobody to set: the schema only lets it pass. */
function entries({ properties = {}, required = [] }: JsonSchema): Row[] {
  return Object.entries(properties)
    .map(([key, schema]) => ({
      key,
      schema,
      required: required.includes(key) && schema.default === undefined,
    }))
    .filter(({ schema, required }) => required || schema.default !== undefined || entries(schema).length > 0)
}

const describe = ({ description = '' }: JsonSchema, required: boolean): string =>
  required ? `Required. ${description}` : description

function typeOf({ type, enum: options, items, additionalProperties }: JsonSchema): string {
  if (options !== undefined) return options.map((option) => `\`${String(option)}\``).join(', ')
  if (type === 'array') return `list of ${items?.type ?? 'anything'}`
  return additionalProperties === undefined ? String(type) : 'map'
}

const BEGIN = '<!-- values: begin -->'
const END = '<!-- values: end -->'

/** Puts the table between the two marks of a README; without the marks there is no place for it. */
export function withTable(readme: string, table: string): string {
  const begin = readme.indexOf(BEGIN)
  const end = readme.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`the README has no ${BEGIN} and ${END}`)
  return `${readme.slice(0, begin)}${BEGIN}\n${table}\n${readme.slice(end)}`
}
