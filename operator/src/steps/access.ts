import { setTimeout as sleep } from 'node:timers/promises'
import { FIELD_MANAGER, TENANT_ROLE_BINDING } from '@service/domain'
import { ACCESS_REVIEWS, ROLE_BINDINGS } from '@service/kube'
import type { KubeClient, KubeObject } from '@service/kube'
import type { OperatorConfig } from '../config.ts'
import type { ReconcileContext } from '../context.ts'

/** What the operator may do in a tenant's namespace: one role, given to one account. */
export type Access = NonNullable<OperatorConfig['access']>

export type RoleBinding = KubeObject & {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
}
type AccessReview = KubeObject & {
  readonly spec: object
  readonly status?: { readonly allowed: boolean }
}

/** The API servers learn of a new binding a moment after it is stored. */
const PAUSE_MS = 100
const KNOWN_MS = 10_000

/**
 * Lets the operator into a namespace that is the tenant's. Before everything else, because without it nothing in there can
 * even be looked at. Writes nothing when the binding is as it should be.
 */
export async function accessStep(context: ReconcileContext, namespace: string): Promise<void> {
  const { access } = context.config
  if (access === null) return
  const key = { name: TENANT_ROLE_BINDING, namespace }
  const seen = await context.kube.get<RoleBinding>(ROLE_BINDINGS, key)
  const wanted = bindingFor(access, namespace)
  if (seen !== null && sameBinding(seen, wanted)) return
  // What a binding refers to cannot be changed.
  if (seen !== null && seen.roleRef.name !== access.role)
    await context.kube.delete(ROLE_BINDINGS, key, { uid: seen.metadata.uid ?? '' })
  await context.kube.apply(ROLE_BINDINGS, wanted, { fieldManager: FIELD_MANAGER.operator, force: true })
  context.hit('operator.access.granted')
  await untilKnown(context.kube, namespace)
}

export const bindingFor = ({ role, account }: Access, namespace: string): RoleBinding => ({
  metadata: {
    name: TENANT_ROLE_BINDING,
    namespace,
    labels: { 'app.kubernetes.io/part-of': 'service' },
  },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'ServiceAccount', ...account }],
})

/** Subjects of somebody else's choice are taken back, too. */
export function sameBinding(seen: RoleBinding, wanted: RoleBinding): boolean {
  const said = ({ roleRef, subjects = [] }: RoleBinding): string =>
    JSON.stringify([
      [roleRef.kind, roleRef.name],
      subjects.map(({ kind, name, namespace }) => [kind, name, namespace]),
    ])
  return said(seen) === said(wanted)
}

async function untilKnown(kube: KubeClient, namespace: string): Promise<void> {
  const deadline = performance.now() + KNOWN_MS
  const review: AccessReview = {
    metadata: { name: '' },
    spec: { resourceAttributes: { namespace, verb: 'list', resource: 'secrets' } },
  }
  for (;;) {
    await sleep(PAUSE_MS)
    const { status } = await kube.create(ACCESS_REVIEWS, review)
    if (status?.allowed === true) return
    if (performance.now() > deadline)
      throw new Error(`The operator is not let into namespace ${namespace} yet, although it is bound there.`)
  }
}
