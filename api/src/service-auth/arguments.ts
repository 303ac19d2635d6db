import { parseArgs } from 'node:util'

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | {
      readonly kind: 'set-password'
      readonly email: string
      readonly dryRun: boolean
      readonly output: 'text' | 'json'
    }

/** How the command was called makes no sense; told with the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const USAGE = `Usage: service-auth set-password <email> [--dry-run] [-o text|json]
       service-auth --help | --version

Sets the password of a user of either side. The user must exist. The password has to be changed at the next login,
and all sessions of the user end.

The password is asked for twice on a terminal. Otherwise it is SERVICE_PASSWORD (or the content of the file that
SERVICE_PASSWORD_FILE names), or else the first line of standard input; it is never an argument.
SERVICE_PASSWORD is used on a terminal, too.

  --dry-run      look the user up and check the password, but change nothing
  -o, --output   text (default) or json
  -h, --help     show this text
  --version      show the version

The databases are found as by the service: SERVICE_DATABASE_APP_URL and SERVICE_DATABASE_MSSP_URL, or their _FILE forms.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 no such user, 4 the password is not acceptable.
`

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  'dry-run': { type: 'boolean', default: false },
  output: { type: 'string', short: 'o', default: 'text' },
} as const

/** Pure; throws a UsageError. */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = read(args)
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const [command, email, ...rest] = positionals
  if (command !== 'set-password')
    throw new UsageError(command === undefined ? 'a command is missing' : 'there is no such command')
  if (email === undefined || email === '') throw new UsageError('the e-mail address is missing')
  if (rest.length > 0) throw new UsageError('too many arguments; the password is never one of them')
  const { output } = values
  if (output !== 'text' && output !== 'json') throw new UsageError('--output must be text or json')
  return { kind: 'set-password', email, dryRun: values['dry-run'], output }
}

function read(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error))
  }
}
