import type { Step } from '@service/domain'
import { isKubeError } from '@service/kube'
import { HelmError } from './helm/driver.ts'
import type { StepFailure } from './status.ts'

/** Refusals that waiting alone does not change: rights, quotas, admission, validity. */
const REFUSED = [400, 403, 405, 422]

/** The namespace has begun to go since we looked: the next look sees it. */
const TERMINATING = /because it is being terminated/

/**
 * The failure of a step, or `undefined` when the error only says that the cluster was not to be had: slow is not failed
 * (decision 3.6), and neither is away.
 */
export function failureOf(step: Step, error: unknown): StepFailure | undefined {
  if (error instanceof HelmError) {
    if (error.kind === 'aborted' || error.kind === 'busy' || error.kind === 'unreachable') return undefined
    if (TERMINATING.test(error.output)) return undefined
    return { step, reason: 'InstallFailed', message: error.message.slice(0, 2_048), evidence: error.output }
  }
  if (isKubeError(error) && REFUSED.includes(error.status) && !TERMINATING.test(error.message)) {
    return { step, reason: 'ApiError', message: error.message.slice(0, 2_048), evidence: error.message }
  }
  return undefined
}
