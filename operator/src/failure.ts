import type { Step } from '@service/domain'
import { isKubeError } from '@service/kube'
import { HelmError } from './helm/error.ts'
import type { StepFailure } from './status.ts'

/**
 * What an error of a step amounts to. `failed`: the cluster or helm refuses, and waiting changes nothing. `passing`: it
 * was slow, busy or away, so it is tried again and the message tells why. `race`: somebody was faster, only look again.
 */
export type Judgement =
  | { readonly kind: 'failed'; readonly failure: StepFailure }
  | { readonly kind: 'passing'; readonly message: string }
  | { readonly kind: 'race' }

/** Refusals that waiting alone does not change: rights, quotas, admission, validity. */
const REFUSED = [400, 403, 405, 422]
/** The namespace has begun to go since we looked: the next look sees it. */
const TERMINATING = /because it is being terminated/
/** What helm hands on of answers that another try may change. */
const PASSING_OUTPUT =
  /the object has been modified|Operation cannot be fulfilled|Internal error occurred|failed calling webhook|the server was unable to|request did not complete|timed out/i

/** What is refused in a namespace because it is on its way out. */
export const isTerminating = (error: unknown): boolean =>
  isKubeError(error) && error.status === 403 && TERMINATING.test(error.message)

/** The one place that tells failed from slow (decision 3.6): only what is refused is rolled back. */
export function judge(step: Step, error: unknown): Judgement {
  if (error instanceof HelmError) return judgeHelm(step, error)
  if (isKubeError(error)) {
    if (error.reason === 'Conflict' || error.reason === 'NotFound') return { kind: 'race' }
    const refused = REFUSED.includes(error.status) && !TERMINATING.test(error.message)
    if (refused) return failed(step, 'ApiError', error.message, error.message)
    return { kind: 'passing', message: error.message.slice(0, 1_024) }
  }
  return {
    kind: 'passing',
    message: error instanceof Error ? error.message.slice(0, 1_024) : 'unknown error',
  }
}

function judgeHelm(step: Step, { kind, message, output }: HelmError): Judgement {
  if (kind !== 'failed' || TERMINATING.test(output) || PASSING_OUTPUT.test(message)) {
    return { kind: 'passing', message: message.slice(0, 1_024) }
  }
  return failed(step, 'InstallFailed', message, output)
}

const failed = (
  step: Step,
  reason: 'ApiError' | 'InstallFailed',
  message: string,
  evidence: string,
): Judgement => ({
  kind: 'failed',
  failure: { step, reason, message: message.slice(0, 2_048), evidence },
})
