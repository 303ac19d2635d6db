import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { ARGON2, PASSWORD_HASHING } from '@service/domain'
import { createGate } from './gate.ts'

export type Verdict =
  | { readonly matches: false }
  /** `fresh` replaces a stored hash whose parameters are no longer ours; null when they are. */
  | { readonly matches: true; readonly fresh: string | null }

export type PasswordHasher = {
  /** The whole argon2id string with its parameters. */
  hash(password: string): Promise<string>
  /** Against null it takes as long as against a real hash, and does not match. */
  verify(stored: string | null, password: string): Promise<Verdict>
}

/** The library's own default algorithm is argon2id; its name cannot be written here (a const enum). */
const OPTIONS = {
  timeCost: ARGON2.timeCost,
  memoryCost: ARGON2.memoryCost,
  parallelism: ARGON2.parallelism,
  outputLen: ARGON2.hashLength,
}

/** S "Password policy" 1. Few at a time: each takes 64 MiB and all cores of the pool that serves files and DNS, too. */
export function createPasswordHasher(): PasswordHasher {
  const gate = createGate(PASSWORD_HASHING)
  const dummy = encode(randomBytes(ARGON2.saltLength), randomBytes(ARGON2.hashLength))
  const make = (password: string) => hash(password, { ...OPTIONS, salt: randomBytes(ARGON2.saltLength) })
  return {
    hash: (password) => gate(() => make(password)),
    verify: (stored, password) =>
      gate(async () => {
        const matches = await verify(stored ?? dummy, password)
        if (!matches || stored === null) return { matches: false }
        return { matches: true, fresh: hasOurParameters(stored) ? null : await make(password) }
      }),
  }
}

const PREFIX = `$argon2id$v=19$m=${ARGON2.memoryCost},t=${ARGON2.timeCost},p=${ARGON2.parallelism}$`

/** A hash that no password has: its digest is random. */
function encode(salt: Uint8Array, digest: Uint8Array): string {
  const unpadded = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '')
  return `${PREFIX}${unpadded(salt)}$${unpadded(digest)}`
}

/** False when a stored hash was made with other parameters (drift), and is to be made again. */
export function hasOurParameters(stored: string): boolean {
  if (!stored.startsWith(PREFIX)) return false
  const [salt = '', digest = ''] = stored.slice(PREFIX.length).split('$')
  const bytes = (text: string) => Buffer.from(text, 'base64').length
  return bytes(salt) === ARGON2.saltLength && bytes(digest) === ARGON2.hashLength
}
