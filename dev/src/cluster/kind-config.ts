import { parse, stringify } from 'yaml'

/** The part of kind's configuration that is read or added to here. */
type Node = Readonly<Record<string, unknown>> & {
  readonly role?: string
  readonly extraMounts?: readonly unknown[]
  readonly extraPortMappings?: readonly unknown[]
}
type KindConfig = Readonly<Record<string, unknown>> & {
  readonly nodes?: readonly Node[]
  readonly kubeadmConfigPatches?: readonly string[]
}

export type KindAdditions = {
  /** Folder of this machine with the audit policy, `policy.yaml`. */
  readonly auditDir: string
  /** Port of the node → port of 127.0.0.1 on this machine. */
  readonly ports: ReadonlyMap<number, number>
}

const EMPTY: KindConfig = { kind: 'Cluster', apiVersion: 'kind.x-k8s.io/v1alpha4' }
const POLICY_DIR = '/etc/kubernetes/audit'
const LOG_DIR = '/var/log/kubernetes-audit'
/** Where the API server writes its audit log, in the node of the control plane. */
export const AUDIT_LOG = `${LOG_DIR}/audit.log`

/** Requests by service accounts, our own among them, without those of the cluster itself: who, what, and the answer. */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', userGroups: ['system:serviceaccounts:kube-system'] },
    { level: 'Metadata', userGroups: ['system:serviceaccounts'] },
    { level: 'None' },
  ],
}

/** Names no version of kubeadm's, whose forms differ: kind then carries it over to the one that it uses. */
const AUDIT_PATCH = stringify({
  kind: 'ClusterConfiguration',
  apiServer: {
    extraArgs: {
      'audit-policy-file': `${POLICY_DIR}/policy.yaml`,
      'audit-log-path': AUDIT_LOG,
      'audit-log-maxsize': '200',
    },
    extraVolumes: [volume('audit-policy', POLICY_DIR, true), volume('audit-log', LOG_DIR, false)],
  },
})

function volume(name: string, path: string, readOnly: boolean) {
  return { name, hostPath: path, mountPath: path, readOnly, pathType: 'DirectoryOrCreate' }
}

/** Pure: the given configuration (its text, empty for kind's default) with audit log and ports on the control plane. */
export function kindConfig(given: string, { auditDir, ports }: KindAdditions): string {
  const config = { ...EMPTY, ...(parse(given) as KindConfig | null) }
  const nodes = config.nodes ?? [{ role: 'control-plane' }]
  const first = nodes.findIndex(({ role }) => role === undefined || role === 'control-plane')
  const added = (node: Node): Node => ({
    ...node,
    extraMounts: [
      ...(node.extraMounts ?? []),
      { hostPath: auditDir, containerPath: POLICY_DIR, readOnly: true },
    ],
    extraPortMappings: [
      ...(node.extraPortMappings ?? []),
      ...[...ports].map(([containerPort, hostPort]) => ({
        containerPort,
        hostPort,
        listenAddress: '127.0.0.1',
      })),
    ],
  })
  return stringify({
    ...config,
    nodes: nodes.map((node, index) => (index === first ? added(node) : node)),
    kubeadmConfigPatches: [...(config.kubeadmConfigPatches ?? []), AUDIT_PATCH],
  })
}
