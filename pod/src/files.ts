import { readFile, stat } from 'node:fs/promises'

const MAX_BYTES = 1024 * 1024

/** A mounted file that may be replaced at any time. */
export type RotatingFile = {
  /** The present content without white space around it; rejects with the path, never with the content. */
  read: () => Promise<string>
  isReadable: () => Promise<boolean>
  /** Reads again next time, even when the file seems to be the same. */
  forget: () => void
}

export function rotatingFile(path: string): RotatingFile {
  let cached: { readonly stamp: string; readonly text: string } | undefined
  const read = async (): Promise<string> => {
    // Kubernetes swaps a link: another inode, maybe with the same time and size.
    const { mtimeMs, ctimeMs, ino, size } = await stat(path)
    const stamp = [mtimeMs, ctimeMs, ino, size].join(':')
    if (cached?.stamp === stamp) return cached.text
    if (size > MAX_BYTES) throw new Error(`${path} is larger than ${MAX_BYTES} bytes`)
    const text = (await readFile(path, 'utf8')).trim()
    if (text === '') throw new Error(`${path} is empty`)
    cached = { stamp, text }
    return text
  }
  return {
    read,
    isReadable: () =>
      read().then(
        () => true,
        () => false,
      ),
    forget: () => {
      cached = undefined
    },
  }
}

/** A file that need not be configured. */
export const optionalFile = (path: string | undefined): RotatingFile | undefined =>
  path === undefined ? undefined : rotatingFile(path)
