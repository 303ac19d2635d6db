import { randomBytes } from 'node:crypto'
import { appendFile, mkdir, readFile, readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { SLUG } from '@service/domain'
import { isObject, parseDate } from './values.ts'
import type { JsonObject } from './values.ts'

export type Document = {
  readonly index: string
  readonly id: string
  /** The order of arrival; a document that is written again gets a new one. */
  readonly seq: number
  /** `timestamp` in milliseconds. */
  readonly time: number | null
  readonly source: JsonObject
}

export type Write = {
  readonly op: 'index' | 'create'
  readonly index: string
  readonly id: string | undefined
  readonly source: JsonObject
}
export type WriteResult =
  | { readonly id: string; readonly result: 'created' | 'updated'; readonly seq: number }
  | {
      readonly id: string
      readonly error: { readonly type: string; readonly reason: string }
      status: number
    }

/** The documents of one tenant. Documents never change: writing one again replaces it. */
export type Store = {
  /** Those of the indices that a comma-separated list of names and patterns means; undefined: all. */
  find: (pattern?: string) => Document[]
  indices: () => Map<string, number>
  /** Answers one result for each write, in order; rejects when the file cannot be written. */
  write: (writes: readonly Write[]) => Promise<WriteResult[]>
}

export const matchesIndex = (pattern: string): ((index: string) => boolean) => {
  const tests = pattern.split(',').map((part) => {
    if (part === '_all' || part === '*' || part === '') return () => true
    const pieces = part.split('*').map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    const test = new RegExp(`^${pieces.join('.*')}$`)
    return (index: string) => test.test(index)
  })
  return (index) => tests.some((test) => test(index))
}

/** With a folder, each tenant's documents are appended to `<slug>.ndjson` there and read again at the start. */
export async function openStores(dataDir: string | undefined) {
  const stores = new Map<string, Store>()
  if (dataDir !== undefined) {
    await mkdir(dataDir, { recursive: true })
    for (const name of await readdir(dataDir)) {
      const slug = name.endsWith('.ndjson') ? name.slice(0, -'.ndjson'.length) : ''
      if (SLUG.test(slug)) stores.set(slug, createStore(await load(join(dataDir, name)), join(dataDir, name)))
    }
  }
  return (slug: string): Store => {
    const known = stores.get(slug)
    if (known !== undefined) return known
    const file = dataDir === undefined ? undefined : join(dataDir, `${slug}.ndjson`)
    const store = createStore([], file)
    stores.set(slug, store)
    return store
  }
}

type Line = { readonly index: string; readonly id: string; readonly source: JsonObject }

/** A line that was being written when the process ended is cut off, so that the next one does not join it. */
async function load(file: string): Promise<Line[]> {
  const bytes = await readFile(file)
  const whole = bytes.lastIndexOf(10) + 1
  if (whole < bytes.length) {
    await truncate(file, whole)
  }
  return bytes
    .subarray(0, whole)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}

function createStore(lines: readonly Line[], file: string | undefined): Store {
  const documents = new Map<string, Document>()
  let seq = 0
  let appended: Promise<unknown> = Promise.resolve()

  const put = ({ index, id, source }: Line): boolean => {
    const key = `${index}/${id}`
    const replaced = documents.delete(key)
    const time = parseDate(source['timestamp']) ?? null
    documents.set(key, { index, id, seq: (seq += 1), time, source })
    return replaced
  }
  for (const line of lines) put(line)

  const persist = (written: readonly Line[]): Promise<unknown> => {
    if (file === undefined || written.length === 0) return Promise.resolve()
    const text = written.map((line) => `${JSON.stringify(line)}\n`).join('')
    const done = appended.then(() => appendFile(file, text))
    appended = done.catch(() => undefined)
    return done
  }

  return {
    find: (pattern) => {
      const all = [...documents.values()]
      if (pattern === undefined) return all
      const matches = matchesIndex(pattern)
      return all.filter((document) => matches(document.index))
    },
    indices: () => {
      const counts = new Map<string, number>()
      for (const { index } of documents.values()) counts.set(index, (counts.get(index) ?? 0) + 1)
      return counts
    },
    write: async (writes) => {
      const accepted: Line[] = []
      const results = writes.map(({ op, index, source, ...given }): WriteResult => {
        const id = given.id ?? randomBytes(15).toString('base64url')
        const refusal = refuse(op, source, documents.has(`${index}/${id}`))
        if (refusal !== undefined) return { id, ...refusal }
        const line = { index, id, source }
        accepted.push(line)
        return { id, result: put(line) ? 'updated' : 'created', seq }
      })
      await persist(accepted)
      return results
    },
  }
}

function refuse(op: Write['op'], source: JsonObject, exists: boolean) {
  if (op === 'create' && exists)
    return {
      status: 409,
      error: { type: 'version_conflict_engine_exception', reason: 'document already exists' },
    }
  const { timestamp } = source
  const reason = 'failed to parse field [timestamp] of type [date]'
  if (timestamp !== undefined && timestamp !== null && parseDate(timestamp) === undefined)
    return { status: 400, error: { type: 'mapper_parsing_exception', reason } }
  return isObject(source)
    ? undefined
    : { status: 400, error: { type: 'mapper_parsing_exception', reason: 'a document must be an object' } }
}
