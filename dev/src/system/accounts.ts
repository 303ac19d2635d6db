import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { INSTALL_NAMESPACE } from '@service/domain'
import { parseAllDocuments } from 'yaml'
import { connectApi, readKubeconfig } from '../cluster/client.ts'
import type { ApiClient } from '../cluster/client.ts'
import { writeKubeconfig } from '../cluster/credentials.ts'
import { ROOT } from './paths.ts'

/** Kubeconfigs of the service accounts that an installation makes; inside the API the operator shares the API's. */
export type Accounts = { readonly api: string; readonly operator: string; readonly access: Access }
/** What the chart tells the operator about its rights in tenants' namespaces. */
type Access = { readonly SERVICE_TENANT_ROLE: string; readonly SERVICE_OPERATOR_ACCOUNT: string }

type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

const CHART = join(ROOT, 'charts/service-system')
const RELEASE = 'service-system'
/** Nothing else of the chart is installed: the rest runs as processes. */
const PLURALS: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceaccounts',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
}
/** A development system may be up for long. */
const TOKEN_SECONDS = 365 * 24 * 3_600

/** The rights of the product as its chart grants them, so that one that is missing is missed here and not at a customer's. */
export async function installAccounts(options: {
  readonly kubeconfig: string
  readonly helm: string
  readonly directory: string
  readonly separateOperator: boolean
}): Promise<Accounts> {
  const credentials = await readKubeconfig(options.kubeconfig)
  const admin = connectApi(credentials)
  try {
    for (const object of await rendered(options.helm, options.separateOperator)) await apply(admin, object)
    const kubeconfigOf = async (name: string): Promise<string> => {
      const path = join(options.directory, `${name}.kubeconfig`)
      const token = await tokenOf(admin, name)
      const { server, ca = '' } = credentials
      await writeKubeconfig(path, { server, ca, user: name, token })
      return path
    }
    const names = {
      api: `${RELEASE}-api`,
      operator: `${RELEASE}-${options.separateOperator ? 'operator' : 'api'}`,
    }
    const api = await kubeconfigOf(names.api)
    const access = { SERVICE_TENANT_ROLE: `${RELEASE}-tenant`, SERVICE_OPERATOR_ACCOUNT: names.operator }
    return { api, operator: options.separateOperator ? await kubeconfigOf(names.operator) : api, access }
  } finally {
    admin.close()
  }
}

async function rendered(helm: string, separateOperator: boolean): Promise<Manifest[]> {
  const values = ['--values', join(CHART, 'ci/minimal-values.yaml')]
  const more = ['--set', `orchestrator.separate=${separateOperator}`, '--no-hooks']
  const args = ['template', RELEASE, CHART, '--namespace', INSTALL_NAMESPACE, ...values, ...more]
  const { stdout } = await promisify(execFile)(helm, args, { maxBuffer: 2 ** 26 })
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object): object is Manifest => object !== null && PLURALS[object.kind] !== undefined)
}

async function apply(api: ApiClient, object: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = object
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  const path = `${root}${scope}/${PLURALS[kind]}/${metadata.name}?fieldManager=service-dev&force=true`
  await api.call('PATCH', path, { body: object, patch: 'apply' })
}

async function tokenOf(api: ApiClient, name: string): Promise<string> {
  const path = `/api/v1/namespaces/${INSTALL_NAMESPACE}/serviceaccounts/${name}/token`
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: TOKEN_SECONDS },
  }
  const { status } = await api.call<{ status: { token: string } }>('POST', path, { body })
  return status.token
}
