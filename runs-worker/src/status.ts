import type { ApiFailure } from '@service/pod'

/** What the worker knows of itself; written by the loop, shown by the health routes. */
export type Status = {
  hasKey: boolean
  /** Whether a question for work was ever answered. */
  asked: boolean
  api: ApiFailure | null
  /** Runs that it holds now. */
  running: number
  draining: boolean
  claimed: number
  released: number
  completed: number
}

export const createStatus = (hasKey: boolean): Status => ({
  hasKey,
  asked: false,
  api: null,
  running: 0,
  draining: false,
  claimed: 0,
  released: 0,
  completed: 0,
})

/** One word for people and probes: what the worker does, or why it does nothing. */
export function stateOf({ hasKey, asked, api, running, draining }: Readonly<Status>): string {
  if (draining) return 'draining'
  if (!hasKey) return 'no_llm_key'
  if (api !== null) return `api_${api}`
  if (running > 0) return 'working'
  return asked ? 'idle' : 'starting'
}
