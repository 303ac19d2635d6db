import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const NAME = 'postgres'

export type SystemUser = { readonly uid: number; readonly gid: number }

/** PostgreSQL refuses to run as root: then it runs as this user, who is made when absent. Null: as whoever we are. */
export async function serverUser(): Promise<SystemUser | null> {
  if (process.getuid?.() !== 0) return null
  const found = await lookUp()
  if (found !== undefined) return found
  await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', NAME]).catch(
    (error: unknown) => {
      throw new Error(
        `PostgreSQL cannot run as root, and the system user "${NAME}" could not be created: create it, or do not work as root`,
        { cause: error },
      )
    },
  )
  const created = await lookUp()
  if (created === undefined) throw new Error(`the system user "${NAME}" was created but cannot be found`)
  return created
}

async function lookUp(): Promise<SystemUser | undefined> {
  const passwd = await readFile('/etc/passwd', 'utf8')
  const line = passwd.split('\n').find((each) => each.startsWith(`${NAME}:`))
  if (line === undefined) return undefined
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}
