import { type Variable, type VariableName, VARIABLES } from './variables.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type ReadFile = (path: string) => string

/** Everything that is wrong with the environment, by variable; never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(`the configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** `undefined` means that the text does not have the expected form. */
export type Parser<T> = (text: string) => T | undefined

export type Reader = {
  /** The value, or a placeholder that is never used, because `done` throws. */
  read<T>(name: VariableName, parse: Parser<T>): T
  /** Like `read`, but `null` when the variable is empty or absent. */
  optional<T>(name: VariableName, parse: Parser<T>): T | null
  report(problem: string): void
  /** Throws a ConfigError with all problems at once. */
  done(): void
}

/** Reads variables by their table entry and collects every problem before it complains. */
export function createReader(env: Environment, readFile: ReadFile): Reader {
  const problems: string[] = []
  const reader: Reader = {
    read<T>(name: VariableName, parse: Parser<T>): T {
      const variable: Variable = VARIABLES[name]
      const text = textOf(name, variable)
      if (text === undefined || (text === '' && variable.fallback === undefined))
        problems.push(`${name} is required: ${variable.expected}`)
      const value = text === undefined ? undefined : parse(text)
      if (text !== undefined && text !== '' && value === undefined)
        problems.push(`${name} must be ${variable.expected}`)
      return value as T
    },
    optional<T>(name: VariableName, parse: Parser<T>): T | null {
      const text = textOf(name, VARIABLES[name])
      if (text === undefined || text === '') return null
      return reader.read(name, parse)
    },
    report: (problem) => void problems.push(problem),
    done() {
      if (problems.length > 0) throw new ConfigError([...new Set(problems)])
    },
  }

  /** Empty is as good as absent: then the default counts. */
  function textOf(name: string, variable: Variable): string | undefined {
    const direct = env[name] === '' ? undefined : env[name]
    const path = variable.secret ? env[`${name}_FILE`] : undefined
    if (path === undefined || path === '') return direct ?? variable.fallback
    if (direct !== undefined) problems.push(`${name} and ${name}_FILE exclude each other`)
    try {
      return readFile(path).replace(/\r?\n$/, '')
    } catch {
      problems.push(`${name}_FILE must be the path of a readable file`)
      return variable.fallback
    }
  }

  return reader
}
