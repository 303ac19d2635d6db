import type { Tenant } from '@service/crds'
import { NAMESPACE_LABELS, namespaceOf } from '@service/domain'
import type { WazuhPlatform } from '../config.ts'

/** The Namespace of a tenant, as the operator applies it. */
export type NamespaceManifest = {
  readonly apiVersion: 'v1'
  readonly kind: 'Namespace'
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
}

/**
 * What the namespace admits. Our own pods run restricted everywhere. The manager of the Wazuh stack is root inside its
 * container and changes its root folder, which `baseline` allows; an indexer that changes its node needs more.
 */
function enforcedLevel({ enabled, sysctlInit }: WazuhPlatform): 'restricted' | 'baseline' | 'privileged' {
  if (!enabled) return 'restricted'
  return sysctlInit ? 'privileged' : 'baseline'
}

/** The labels that S lists under "namespaceLabels". */
export const namespaceLabels = ({ spec }: Tenant): Record<string, string> => ({
  [NAMESPACE_LABELS.tenant]: 'true',
  [NAMESPACE_LABELS.managedBy]: 'service',
  [NAMESPACE_LABELS.msspId]: spec.config.msspId,
  [NAMESPACE_LABELS.installId]: spec.config.installId,
  [NAMESPACE_LABELS.tenantId]: spec.tenantId,
})

/** The Namespace of a tenant with its labels. Whether one of that name is ours decides its label `tenant-id`. */
export const namespaceManifest = (tenant: Tenant, wazuh: WazuhPlatform): NamespaceManifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: namespaceOf(tenant.metadata.name),
    labels: {
      ...namespaceLabels(tenant),
      'pod-security.kubernetes.io/enforce': enforcedLevel(wazuh),
      // Whoever is less than restricted is told of, whatever is let in.
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    },
  },
})
