import { IndexerError } from './errors.ts'
import type { Store, Write } from './store.ts'
import { isObject } from './values.ts'
import type { Json } from './values.ts'

const illegal = (reason: string) => new IndexerError(400, 'illegal_argument_exception', reason)

/** Writes an NDJSON body of `index` and `create` actions and answers as `_bulk` does: each item by itself. */
export async function bulk(store: Store, body: string, defaultIndex: string | undefined) {
  const writes = parseBulk(body, defaultIndex)
  const results = await store.write(writes)
  const items = results.map((result, position) => {
    const { op, index } = writes[position] ?? { op: 'index', index: '' }
    const base = { _index: index, _id: result.id }
    return {
      [op]:
        'error' in result
          ? { ...base, status: result.status, error: result.error }
          : {
              ...base,
              _version: 1,
              result: result.result,
              _seq_no: result.seq,
              _primary_term: 1,
              status: result.result === 'created' ? 201 : 200,
            },
    }
  })
  return { took: 0, errors: results.some((result) => 'error' in result), items }
}

function parseBulk(body: string, defaultIndex: string | undefined): Write[] {
  if (body === '') throw new IndexerError(400, 'parse_exception', 'request body is required')
  if (!body.endsWith('\n')) throw illegal('The bulk request must be terminated by a newline [\\n]')
  const lines = body.split('\n').filter((line) => line.trim() !== '')
  const writes: Write[] = []
  for (let at = 0; at < lines.length; at += 2) {
    const action = parseAction(parseLine(lines[at], at), at, defaultIndex)
    const source = parseLine(lines[at + 1], at + 1)
    if (!isObject(source)) throw illegal(`Malformed document at line [${at + 2}], expected an object`)
    writes.push({ ...action, source })
  }
  return writes
}

function parseLine(line: string | undefined, at: number): Json {
  if (line === undefined) throw illegal(`The action at line [${at}] has no document`)
  try {
    return JSON.parse(line) as Json
  } catch {
    throw new IndexerError(400, 'parse_exception', `line [${at + 1}] of the bulk body is not JSON`)
  }
}

function parseAction(line: Json, at: number, defaultIndex: string | undefined): Omit<Write, 'source'> {
  const entries = isObject(line) ? Object.entries(line) : []
  const [op, meta] = entries[0] ?? []
  if (entries.length !== 1 || (op !== 'index' && op !== 'create') || !isObject(meta ?? null))
    throw illegal(
      `Malformed action/metadata line [${at + 1}], expected index or create but found [${String(op)}]`,
    )
  const { _index: index = defaultIndex, _id: id } = meta as { _index?: Json; _id?: Json }
  if (typeof index !== 'string' || !/^[a-z0-9][a-z0-9._-]{0,254}$/.test(index))
    throw illegal(`line [${at + 1}] of the bulk body names no valid index`)
  if (id !== undefined && (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > 512))
    throw illegal(`line [${at + 1}] of the bulk body has an id that is no string of 1 to 512 bytes`)
  return { op, index, id }
}
