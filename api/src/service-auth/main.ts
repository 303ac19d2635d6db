import { ServiceError } from '@service/domain'
import { systemClock } from '../clock.ts'
import { ConfigError, parseAuthCommandConfig, processEnvironment } from '../config/index.ts'
import { createDatabase } from '../db/database.ts'
import { isUnavailable } from '../db/errors.ts'
import { createPasswordHasher } from '../identity/hasher.ts'
import { silent } from '../log.ts'
import { checkPassword, findPasswordOwner, setPassword } from '../verbs/auth/set-password.ts'
import { VERSION } from '../version.ts'
import { type Command, parseCommand, USAGE, UsageError } from './arguments.ts'
import { Interrupted, readPassword } from './read-password.ts'

const EXIT = { failure: 1, usage: 2, notFound: 3, policy: 4, interrupted: 130 } as const

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommand(args)
  if (command.kind === 'help') process.stdout.write(USAGE)
  else if (command.kind === 'version') process.stdout.write(`${VERSION}\n`)
  else process.stdout.write(await run(command))
}

/** What to print. The user is looked up before anybody has to type a password. */
async function run(command: Extract<Command, { kind: 'set-password' }>): Promise<string> {
  const config = parseAuthCommandConfig(processEnvironment())
  const db = createDatabase({ ...config.database, max: 1, log: silent })
  try {
    const user = await findPasswordOwner({ db }, command.email)
    const terminal = { input: process.stdin, output: process.stderr }
    const password = await readPassword(config.password, terminal)
    checkPassword(password)
    const hasher = createPasswordHasher()
    const hashPassword = (text: string) => hasher.hash(text)
    if (!command.dryRun) await setPassword({ db, clock: systemClock, hashPassword }, { user, password })
    return command.output === 'json'
      ? `${JSON.stringify({ user_id: user.id, email: user.email, must_change: true, dry_run: command.dryRun })}\n`
      : `${command.dryRun ? 'dry run: the password would be' : 'password'} set for ${user.email}, to be changed at the next login\n`
  } finally {
    await db.close()
  }
}

/** Never a stack, and never what was typed. */
function explain(error: unknown): { readonly code: number; readonly message: string } {
  if (error instanceof UsageError) return { code: EXIT.usage, message: `${error.message}\n\n${USAGE}` }
  if (error instanceof ConfigError) return { code: EXIT.usage, message: error.message }
  if (error instanceof Interrupted) return { code: EXIT.interrupted, message: error.message }
  if (error instanceof ServiceError && error.code === 'not_found')
    return { code: EXIT.notFound, message: error.message }
  if (error instanceof ServiceError && error.code === 'validation_failed')
    return { code: EXIT.policy, message: error.message }
  if (isUnavailable(error)) return { code: EXIT.failure, message: 'the database cannot be used right now' }
  return { code: EXIT.failure, message: error instanceof Error ? error.message : 'something went wrong' }
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  const { code, message } = explain(error)
  process.stderr.write(`service-auth: ${message.trimEnd()}\n`)
  process.exitCode = code
})
