import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { INSTALL_NAMESPACE } from '@service/domain'
import { parse } from 'yaml'
import { connectApi, readKubeconfig } from '../cluster/client.ts'
import { ROOT } from './paths.ts'

const CRD_FILE = join(ROOT, 'crds/tenants.service.dev.yaml')
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const SERVED_MS = 30_000

type Crd = {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

/** What an installation brings before the API starts: the install namespace and the Tenant definition, served. */
export async function prepareCluster(kubeconfig: string): Promise<void> {
  const crd = parse(await readFile(CRD_FILE, 'utf8')) as Crd
  const api = connectApi(await readKubeconfig(kubeconfig))
  const apply = (path: string, body: unknown) =>
    api.call('PATCH', `${path}?fieldManager=service-dev&force=true`, { body, patch: 'apply' })
  try {
    await apply(`/api/v1/namespaces/${INSTALL_NAMESPACE}`, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: INSTALL_NAMESPACE },
    })
    await apply(`${CRDS}/${crd.metadata.name}`, crd)
    const { group, names, versions } = crd.spec
    await untilListed(api, `/apis/${group}/${versions[0]?.name}/${names.plural}?limit=1`)
  } finally {
    api.close()
  }
}

/** A new definition answers 404, then 429 while its storage is made, also after it says that it is established. */
async function untilListed(api: ReturnType<typeof connectApi>, path: string): Promise<void> {
  const deadline = performance.now() + SERVED_MS
  for (;;) {
    try {
      await api.call('GET', path)
      return
    } catch (error) {
      if (performance.now() > deadline)
        throw new Error(`the API server does not serve ${path}`, { cause: error })
      await sleep(50)
    }
  }
}
