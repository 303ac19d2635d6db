import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { KubeClient, ResourceType } from '@service/kube'
import { parse, stringify } from 'yaml'

const RBAC = 'rbac.authorization.k8s.io'
const rbac = (kind: string, plural: string): ResourceType => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  plural,
  namespaced: false,
})
const ROLES = rbac('ClusterRole', 'clusterroles')
const BINDINGS = rbac('ClusterRoleBinding', 'clusterrolebindings')
const ACCOUNTS: ResourceType = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

/** What can be taken away from an operator. */
export type Right = 'create namespaces' | 'secrets' | 'write status'
export type LimitedAccount = {
  readonly kubeconfig: string
  /** All rights that an operator needs, but these. */
  grantAllBut(...missing: readonly Right[]): Promise<void>
}

/** A service account for an operator on a real API server, whose rights can be taken away and given back. */
export async function limitedAccount(cluster: {
  readonly kube: KubeClient
  readonly kubeconfigPath: string
  readonly kubectl: string
  readonly namespace: string
  readonly directory: string
}): Promise<LimitedAccount> {
  const { kube, kubeconfigPath, kubectl, namespace, directory } = cluster
  const name = `limited-${crypto.randomUUID().slice(0, 8)}`
  await kube.create(ACCOUNTS, { metadata: { name, namespace } })
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
  await kube.create(BINDINGS, binding)
  const args = ['--kubeconfig', kubeconfigPath, '-n', namespace, 'create', 'token', name]
  const { stdout } = await promisify(execFile)(kubectl, args)
  const file = parse(await readFile(kubeconfigPath, 'utf8')) as { users: { name: string }[] }
  const users = file.users.map((user) => ({ name: user.name, user: { token: stdout.trim() } }))
  const kubeconfig = join(directory, `${name}.kubeconfig`)
  await writeFile(kubeconfig, stringify({ ...file, users }), { mode: 0o600 })
  return {
    kubeconfig,
    grantAllBut: async (...missing) => {
      const role = { metadata: { name }, rules: rulesWithout(missing) }
      await kube.apply(ROLES, role, { fieldManager: 'test', force: true })
    },
  }
}

function rulesWithout(missing: readonly Right[]) {
  const rule = (apiGroups: string[], resources: string[], verbs: string[] = ['*']) => ({
    apiGroups,
    resources,
    verbs,
  })
  const unless = (right: Right, verb: string): string[] => (missing.includes(right) ? [] : [verb])
  const reading = ['get', 'list', 'watch']
  return [
    rule([''], ['namespaces'], [...reading, 'patch', 'delete', ...unless('create namespaces', 'create')]),
    ...(missing.includes('secrets') ? [] : [rule([''], ['secrets'])]),
    rule(['service.dev'], ['tenants']),
    rule(['service.dev'], ['tenants/status'], [...reading, ...unless('write status', 'patch')]),
    rule([''], ['pods', 'services', 'serviceaccounts', 'configmaps', 'persistentvolumeclaims', 'events']),
    rule([''], ['resourcequotas', 'limitranges']),
    rule(['apps', 'networking.k8s.io', 'policy', RBAC], ['*']),
    rule(['coordination.k8s.io', 'events.k8s.io', 'batch', 'autoscaling'], ['*']),
  ]
}
