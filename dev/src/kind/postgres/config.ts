import { readFileSync } from 'node:fs'

export const pgdata = process.env.PGDATA ?? '/var/lib/postgresql/data'

/** A setting of the official image: from the environment, or from the file that `<NAME>_FILE` names. */
export function setting(name: string): string | undefined {
  const file = process.env[`${name}_FILE`]
  return file === undefined || file === ''
    ? process.env[name] || undefined
    : readFileSync(file, 'utf8').trim()
}
