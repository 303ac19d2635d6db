import { randomBytes } from 'node:crypto'

/** URL-safe random text; the length is a multiple of four (S "Secret placement" 4). */
export const randomText = (length: number): string =>
  randomBytes(Math.ceil((length * 3) / 4))
    .toString('base64url')
    .slice(0, length)

/** Characters of a password that is shown once and changed at the first login. */
export const TEMPORARY_PASSWORD_LENGTH = 24

const CLASSES = [/[a-z]/, /[A-Z]/, /[0-9]/, /[_-]/]

/** A password that also satisfies systems which ask for every kind of character. */
export function randomPassword(length: number): string {
  for (;;) {
    const candidate = randomText(length)
    if (/^[A-Za-z0-9]/.test(candidate) && CLASSES.every((wanted) => wanted.test(candidate))) return candidate
  }
}
