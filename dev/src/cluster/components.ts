import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PkiFiles } from './credentials.ts'
import type { ClusterPorts } from './ports.ts'

const LOOPBACK = '127.0.0.1'
const ISSUER = 'https://kubernetes.default.svc.cluster.local'

export function etcdArgs(dataDir: string, ports: ClusterPorts, fsync: boolean): string[] {
  const client = `http://${LOOPBACK}:${ports.etcd}`
  const peer = `http://${LOOPBACK}:${ports.etcdPeer}`
  return [
    '--name=local',
    `--data-dir=${join(dataDir, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=local=${peer}`,
    '--auto-compaction-retention=5m',
    '--log-level=warn',
    ...(fsync ? [] : ['--unsafe-no-fsync']),
  ]
}

const AUDIT_POLICY = fileURLToPath(new URL('../../cluster/audit-policy.yaml', import.meta.url))

export function apiserverArgs(pki: PkiFiles, ports: ClusterPorts, auditLog?: string): string[] {
  return [
    `--etcd-servers=http://${LOOPBACK}:${ports.etcd}`,
    `--bind-address=${LOOPBACK}`,
    `--advertise-address=${LOOPBACK}`,
    `--secure-port=${ports.apiserver}`,
    // It makes its own serving certificate there, signed by an authority that it puts behind it.
    `--cert-dir=${pki.directory}`,
    `--token-auth-file=${pki.tokenFile}`,
    '--authorization-mode=RBAC',
    `--service-account-issuer=${ISSUER}`,
    `--service-account-signing-key-file=${pki.serviceAccountKey}`,
    `--service-account-key-file=${pki.serviceAccountPublicKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    // Loopback addresses are refused in endpoints, and nothing routes the service address here anyway.
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
    ...(auditLog === undefined
      ? []
      : [`--audit-log-path=${auditLog}`, `--audit-policy-file=${AUDIT_POLICY}`]),
    '--profiling=false',
  ]
}

/** The defaults of 20 and 30 make a first start wait three seconds for the controllers' own accounts. */
const CLIENT_LIMITS = ['--kube-api-qps=200', '--kube-api-burst=400']

export function controllerManagerArgs(pki: PkiFiles, kubeconfig: string, caFile: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--root-ca-file=${caFile}`,
    `--service-account-private-key-file=${pki.serviceAccountKey}`,
    '--use-service-account-credentials=true',
    '--leader-elect=false',
    '--secure-port=0',
    '--profiling=false',
    ...CLIENT_LIMITS,
  ]
}

export function schedulerArgs(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--profiling=false',
    ...CLIENT_LIMITS,
  ]
}
