import { parseAllDocuments } from 'yaml'

/** One request as the API server's audit log tells it (audit.k8s.io/v1, level Metadata). */
export type AuditEvent = {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
  readonly annotations?: Readonly<Record<string, string>>
}

type Rule = {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** One rule of a role, and to whom it is given where. */
export type Grant = {
  readonly user: string
  readonly role: string
  /** `null`: in all of them, and for what is in none. */
  readonly namespace: string | null
  readonly rule: Rule
}

type RbacObject = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[]
}

/** Pure: what the roles and bindings among rendered objects give to service accounts. `release` is where objects without a namespace go. */
export function readGrants(rendered: string, release: string): Grant[] {
  const objects = parseAllDocuments(rendered).map((document) => document.toJS() as RbacObject | null)
  const known = objects.filter((object) => object !== null)
  const placeOf = ({ metadata }: RbacObject): string => metadata.namespace ?? release
  return known
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .flatMap((binding) => {
      const namespace = binding.kind === 'RoleBinding' ? placeOf(binding) : null
      const role = known.find(
        (each) =>
          each.kind === binding.roleRef?.kind &&
          each.metadata.name === binding.roleRef.name &&
          (each.kind === 'ClusterRole' || placeOf(each) === namespace),
      )
      if (role === undefined)
        throw new Error(`${binding.kind} ${binding.metadata.name} names a role that is not rendered`)
      return (binding.subjects ?? [])
        .filter(({ kind }) => kind === 'ServiceAccount')
        .flatMap((subject) => {
          const user = `system:serviceaccount:${subject.namespace ?? release}:${subject.name}`
          return (role.rules ?? []).map((rule) => ({ user, role: role.metadata.name, namespace, rule }))
        })
    })
}

const DISCOVERY = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|\?|$)/
const OWN_RIGHTS = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']

/** What Kubernetes lets everybody do who has signed in: its ClusterRoles system:discovery and system:basic-user. */
export const isForEverybody = ({ objectRef, verb, requestURI }: AuditEvent): boolean =>
  objectRef?.resource === undefined
    ? verb === 'get' && DISCOVERY.test(requestURI)
    : verb === 'create' &&
      objectRef.apiGroup === 'authorization.k8s.io' &&
      OWN_RIGHTS.includes(objectRef.resource)

/** Pure: whether a grant covers a request. A wildcard covers nothing: the chart has none, and none may come in. */
export function covers({ user, namespace, rule }: Grant, event: AuditEvent): boolean {
  const { apiGroup = '', resource = '', subresource, name, namespace: place } = event.objectRef ?? {}
  const asked = subresource === undefined ? resource : `${resource}/${subresource}`
  return (
    user === event.user.username &&
    (namespace === null || namespace === place) &&
    rule.verbs.includes(event.verb) &&
    (rule.apiGroups ?? []).includes(apiGroup) &&
    (rule.resources ?? []).includes(asked) &&
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  )
}

/** Pure: every single verb that is granted, as `account: role: verb resource`. */
export function singleGrants(grants: readonly Grant[]): readonly (Grant & { readonly label: string })[] {
  return grants.flatMap((grant) =>
    grant.rule.verbs.flatMap((verb) =>
      (grant.rule.apiGroups ?? []).flatMap((group) =>
        (grant.rule.resources ?? []).map((resource) => {
          const account = grant.user.split(':').at(-1)
          const rule = { ...grant.rule, verbs: [verb], apiGroups: [group], resources: [resource] }
          const what = group === '' ? resource : `${resource}.${group}`
          return { ...grant, rule, label: `${account}: ${grant.role}: ${verb} ${what}` }
        }),
      ),
    ),
  )
}
