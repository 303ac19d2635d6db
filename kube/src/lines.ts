import { StringDecoder } from 'node:string_decoder'

/** Larger than the largest object that etcd takes, with room for its JSON form. */
const MAX_LINE = 16 * 1_024 * 1_024

/** Cuts a byte stream into lines; what follows the last line feed is kept for the next chunk and dropped at the end. */
export function lineSplitter(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return (chunk) => {
    const parts = (rest + decoder.write(chunk)).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > MAX_LINE) throw new Error(`a line of the watch is longer than ${MAX_LINE} characters`)
    for (const line of parts) if (line.trim() !== '') onLine(line)
  }
}
