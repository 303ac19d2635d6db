import type { Tenant } from '@service/crds'
import { NAMESPACE_LABELS, namespaceOf } from '@service/domain'

/** The Namespace of a tenant, as the operator applies it. */
export type NamespaceManifest = {
  readonly apiVersion: 'v1'
  readonly kind: 'Namespace'
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
}

/** Pod Security of the whole namespace: everything in it runs restricted. */
const POD_SECURITY = 'restricted'

/** The labels that S lists under "namespaceLabels". */
export const namespaceLabels = ({ spec }: Tenant): Record<string, string> => ({
  [NAMESPACE_LABELS.tenant]: 'true',
  [NAMESPACE_LABELS.managedBy]: 'service',
  [NAMESPACE_LABELS.msspId]: spec.config.msspId,
  [NAMESPACE_LABELS.installId]: spec.config.installId,
  [NAMESPACE_LABELS.tenantId]: spec.tenantId,
})

/** The Namespace of a tenant with its labels. Whether one of that name is ours decides its label `tenant-id`. */
export const namespaceManifest = (tenant: Tenant): NamespaceManifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: namespaceOf(tenant.metadata.name),
    labels: {
      ...namespaceLabels(tenant),
      'pod-security.kubernetes.io/enforce': POD_SECURITY,
      'pod-security.kubernetes.io/audit': POD_SECURITY,
      'pod-security.kubernetes.io/warn': POD_SECURITY,
    },
  },
})
