import { EVENTS } from '@service/kube'
import type { KubeObject } from '@service/kube'
import type { ReconcileContext } from '../context.ts'

type KubernetesEvent = KubeObject & {
  readonly type?: string
  readonly reason?: string
  readonly note?: string
  readonly regarding?: { readonly kind?: string; readonly name?: string }
}

const NEWEST = 12

/** What a person would look up: the namespace's newest warnings. Best effort, because it only explains. */
export async function warningsOf(context: ReconcileContext, namespace: string): Promise<string> {
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
