import type { Tenant } from '@service/crds'
import { namespaceOf } from '@service/domain'
import { EVENTS, PODS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import type { ReconcileContext } from '../context.ts'
import type { StepFailure } from '../status.ts'
import { secretValues } from './secrets.ts'

type KubernetesEvent = KubeObject & {
  readonly type?: string
  readonly reason?: string
  readonly note?: string
  readonly regarding?: { readonly kind?: string; readonly name?: string }
}
type Pod = KubeObject & {
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly {
      readonly name: string
      readonly restartCount: number
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } }
    }[]
  }
}

const NEWEST = 12

/** What a person would look up: pods that do not run, the newest warnings. Best effort, because it only explains. */
export async function evidenceOf(context: ReconcileContext, namespace: string): Promise<string> {
  const parts = [await podStates(context, namespace), await warningsOf(context, namespace)]
  return parts.filter((part) => part !== '').join('\n')
}

/** With what was seen in the namespace; no value of the tenant's secrets is left in it, whoever has quoted one. */
export async function withEvidence(
  context: ReconcileContext,
  tenant: Tenant,
  failure: StepFailure,
): Promise<StepFailure> {
  const [seen, values] = await Promise.all([
    evidenceOf(context, namespaceOf(tenant.metadata.name)),
    secretValues(context, tenant),
  ])
  const evidence = [seen, failure.evidence].filter((text) => text !== '').join('\n')
  return {
    ...failure,
    message: withoutSecrets(failure.message, values),
    evidence: withoutSecrets(evidence, values),
  }
}

/** Shorter values stand in too many words to be told from them. */
const SHORTEST = 6

/** Also as base64, which is how Secrets show them. */
export function withoutSecrets(text: string, values: readonly string[]): string {
  const forms = values
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => [value, Buffer.from(value).toString('base64')])
  // The longest first: one may be part of another.
  return forms
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, form) => clean.replaceAll(form, '[secret]'), text)
}

async function podStates(context: ReconcileContext, namespace: string): Promise<string> {
  try {
    const { items } = await context.kube.list<Pod>(PODS, { namespace })
    return items
      .slice(0, NEWEST)
      .flatMap(({ metadata, status = {} }) => {
        const waiting = (status.containerStatuses ?? []).flatMap(({ name, restartCount, state }) =>
          state?.waiting === undefined
            ? []
            : [
                `${name} ${state.waiting.reason} (${restartCount} restarts) ${state.waiting.message ?? ''}`.trim(),
              ],
        )
        if (status.phase === 'Running' && waiting.length === 0) return []
        return [`Pod/${metadata.name} ${[status.phase, ...waiting].join('; ')}`]
      })
      .join('\n')
  } catch (error) {
    context.log.debug({ err: error, namespace }, 'no pods for the evidence')
    return ''
  }
}

async function warningsOf(context: ReconcileContext, namespace: string): Promise<string> {
  try {
    const { items } = await context.kube.list<KubernetesEvent>(EVENTS, {
      namespace,
      fieldSelector: 'type=Warning',
    })
    return items
      .toSorted((a, b) =>
        (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
      )
      .slice(0, NEWEST)
      .map(({ reason, note, regarding }) => `${regarding?.kind}/${regarding?.name} ${reason}: ${note}`)
      .join('\n')
  } catch (error) {
    context.log.debug({ err: error, namespace }, 'no events for the evidence')
    return ''
  }
}
