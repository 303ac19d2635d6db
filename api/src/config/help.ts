import { FAILPOINTS, INSTALL_SECRETS } from '@service/domain'
import { type Variable, VARIABLES } from './variables.ts'

const USAGE = `Usage: service-api [serve | migrate | secrets | --help]

  serve     answer requests, carry tenants to the cluster, run the operator (default)
  migrate   bring the database up to date, make the organization and the first administrator
  secrets   make the Secrets of the install that are absent; those that exist are left alone

Variables (those marked * may also be given as <NAME>_FILE, the path of a file that holds the value):
`

/** The text of `--help`: both commands and every variable. */
export function helpText(): string {
  const lines = Object.entries<Variable>(VARIABLES).map(([name, variable]) => {
    const fallback =
      variable.fallback === undefined ? 'required' : `default ${variable.fallback || '(empty)'}`
    return `  ${name}${variable.secret ? ' *' : ''}\n      ${variable.about}\n      ${variable.expected}; ${fallback}`
  })
  const failpoints = FAILPOINTS.map((name) => `  ${name}`)
  const secrets = Object.entries(INSTALL_SECRETS).map(([kind, { keys }]) => `  ${kind} (${keys.join(', ')})`)
  return `${USAGE}\n${lines.join('\n')}\n\nInstall Secrets and their keys:\n\n${secrets.join('\n')}\n\nFailpoints:\n\n${failpoints.join('\n')}\n`
}
