/** A query string as its schema sees it: each key a text, or a list where the key stands several times. */
export function queryObject(search: URLSearchParams): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = {}
  for (const key of new Set(search.keys())) {
    const values = search.getAll(key)
    const value = values.length === 1 && values[0] !== undefined ? values[0] : values
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return object
}
