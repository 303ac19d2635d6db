import * as wire from '@service/wire'
import { toJsonSchemaDefs } from '@valibot/to-json-schema'
import type * as v from 'valibot'

/** A piece of the document. */
export type Json = Readonly<Record<string, unknown>>
/** What goes in is described before defaults and transformations, what comes out after them. */
export type Direction = 'input' | 'output'

const isSchema = (value: unknown): value is v.GenericSchema =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'schema'

/** The schemas that the wire names are the shared ones, under the same names. */
const NAMED: Readonly<Record<string, v.GenericSchema>> = Object.fromEntries(
  Object.entries(wire).flatMap(([name, value]) =>
    /^[A-Z]/.test(name) && isSchema(value) ? [[name, value]] : [],
  ),
)
const NAME_OF = new Map(Object.entries(NAMED).map(([name, schema]) => [schema, name]))

const PREFIX = '#/components/schemas/'

/**
 * JSON schemas of `schemas`, by the same keys, and of all that are named. Checks in code say nothing to a reader, and what
 * comes out is never transformed: real answers are held against the document in the tests.
 */
function convert(schemas: Readonly<Record<string, v.GenericSchema>>, direction: Direction): Json {
  return toJsonSchemaDefs(
    { ...schemas, ...NAMED },
    {
      target: 'draft-2020-12',
      typeMode: direction,
      ignoreActions: ['check', 'transform'],
      overrideRef: ({ referenceId }) => `${PREFIX}${referenceId}`,
      // A pattern with flags has no counterpart; its metadata says what is meant.
      overrideAction: ({ valibotAction, jsonSchema }) =>
        valibotAction.type === 'regex' && 'requirement' in valibotAction && flagsOf(valibotAction) !== ''
          ? jsonSchema
          : undefined,
    },
  )
}

const flagsOf = ({ requirement }: { readonly requirement?: unknown }): string =>
  requirement instanceof RegExp ? requirement.flags : ''

const SHARED: Readonly<Record<Direction, Json>> = {
  input: convert({}, 'input'),
  output: convert({}, 'output'),
}

/** The JSON schema of a valibot schema; a named one, and every named one inside, is a reference. */
export function jsonSchemaOf(schema: v.GenericSchema, direction: Direction): Json {
  const name = NAME_OF.get(schema)
  if (name !== undefined) return { $ref: `${PREFIX}${name}` }
  return convert({ it: schema }, direction).it as Json
}

/** Shared schemas that are referred to from `places`, directly or through others. Fails where the two directions differ. */
export function componentsFor(places: readonly { value: unknown; direction: Direction }[]): Json {
  const used = { input: new Set<string>(), output: new Set<string>() }
  for (const { value, direction } of places) follow(value, direction, used[direction])
  for (const name of used.input)
    if (used.output.has(name) && JSON.stringify(SHARED.input[name]) !== JSON.stringify(SHARED.output[name]))
      throw new Error(`${name} goes in and comes out, and is not the same both ways: name two schemas`)
  const names = [...new Set([...used.input, ...used.output])].toSorted()
  return Object.fromEntries(
    names.map((name) => [name, SHARED[used.input.has(name) ? 'input' : 'output'][name]]),
  )
}

function follow(value: unknown, direction: Direction, used: Set<string>): void {
  for (const [, name = ''] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (used.has(name)) continue
    used.add(name)
    follow(SHARED[direction][name], direction, used)
  }
}
