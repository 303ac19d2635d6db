import type { Agent } from './cast.ts'
import type { Random } from './random.ts'

export type Scene = { readonly random: Random; readonly agent: Agent; readonly at: Date }

/** What a log source and the rule that matched it leave in an alert, beside time, agent and id. */
export type Finding = {
  readonly full_log: string
  readonly data?: object
  readonly syscheck?: object
  readonly predecoder?: object
}

export type Kind = {
  /** How often it comes, against the others. */
  readonly weight: number
  readonly os: Agent['os']
  readonly rule: {
    readonly id: string
    readonly level: number
    readonly description: string
    readonly groups: readonly string[]
    readonly mitre?: {
      readonly id: readonly string[]
      readonly tactic: readonly string[]
      readonly technique: readonly string[]
    }
  }
  readonly decoder: string
  readonly location: string
  readonly find: (scene: Scene) => Finding
}

/** The head of a syslog line, in UTC. */
export function syslogTime(at: Date): string {
  const month = at.toUTCString().slice(8, 11)
  return `${month} ${String(at.getUTCDate()).padStart(2)} ${at.toISOString().slice(11, 19)}`
}

export const syslog = ({ agent, at, random }: Scene, program: string, text: string): Finding => ({
  full_log: `${syslogTime(at)} ${agent.name} ${program}[${random.whole(300, 32_000)}]: ${text}`,
  predecoder: { program_name: program, timestamp: syslogTime(at), hostname: agent.name },
})
