import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

export type Figures = {
  readonly operations: Set<string>
  requests: number
  /** Answers by status; 0 where none came. */
  readonly statuses: Map<number, number>
  checks: number
  /** What was found, once for each operation and check, with the first example. */
  readonly findings: Map<string, string>
}

type Line = {
  readonly ScenarioFinished?: { readonly phase: string; readonly recorder: Recorder }
  readonly NonFatalError?: { readonly label?: string; readonly value?: { readonly message?: string } }
  readonly FatalError?: { readonly exception?: { readonly message?: string } }
}
type Scenario = NonNullable<Line['ScenarioFinished']>
type Recorder = {
  /** Method and path, but for scenarios of several operations. */
  readonly label: string
  readonly checks?: Readonly<Record<string, readonly Check[]>>
  readonly interactions?: Readonly<Record<string, Interaction>>
}
type Check = {
  readonly name: string
  readonly status: string
  readonly failure_info?: { readonly failure?: { readonly title?: string; readonly message?: string } }
}
type Interaction = {
  readonly request: { readonly method: string; readonly uri: string }
  readonly response?: { readonly status_code: number }
}

export const noFigures = (): Figures => ({
  operations: new Set(),
  requests: 0,
  statuses: new Map(),
  checks: 0,
  findings: new Map(),
})

/** Adds what a run of schemathesis has written down. */
export async function addReport(figures: Figures, file: string): Promise<void> {
  for await (const text of createInterface(createReadStream(file))) {
    const { ScenarioFinished, NonFatalError, FatalError } = JSON.parse(text) as Line
    if (ScenarioFinished !== undefined) addScenario(figures, ScenarioFinished)
    const error = NonFatalError?.value?.message ?? FatalError?.exception?.message
    if (error !== undefined) figures.findings.set(`${NonFatalError?.label ?? 'the run'}: ${error}`, '')
  }
}

function addScenario(figures: Figures, { phase, recorder }: Scenario): void {
  const { label, checks = {}, interactions = {} } = recorder
  if (phase !== 'stateful') figures.operations.add(label)
  for (const { response } of Object.values(interactions)) {
    figures.requests += 1
    count(figures.statuses, response?.status_code ?? 0)
  }
  for (const [id, made] of Object.entries(checks))
    for (const { name, status, failure_info } of made) {
      figures.checks += 1
      if (status !== 'failure') continue
      const { title = '', message = '' } = failure_info?.failure ?? {}
      const { request, response } = interactions[id] ?? {}
      const where = `${request?.method} ${request?.uri}`
      const key = `${label}: ${name}: ${title}`
      if (!figures.findings.has(key))
        figures.findings.set(key, `${where} ${response?.status_code} ${message}`)
    }
}

const count = <K>(counts: Map<K, number>, key: K): void => void counts.set(key, (counts.get(key) ?? 0) + 1)
